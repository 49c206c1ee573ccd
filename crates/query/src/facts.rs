//! What operations need of the schema at every entry, looked up once per schema.
//!
//! Knows names of attributes and classes that mean something to a directory; knows no entry of any backend.

use std::sync::Arc;

use schema::{ClassIndex, Schema, TypeIndex};
use store::{Tables, Values};

use crate::account_types::{AccountTypes, CACHED_PASSWORD};
use crate::class_flags::ClassFlags;
use crate::definition_types::DefinitionTypes;
use crate::group_types::GroupTypes;
use crate::own_limit_types::OwnLimitTypes;
use crate::virtual_attributes::VirtualAttribute;

/// A schema and what was looked up in it.
#[derive(Debug)]
pub struct Facts {
    /// The schema.
    pub schema: Arc<Schema>,
    /// Attribute types that the server computes, by number in the schema.
    virtual_types: Vec<(TypeIndex, VirtualAttribute)>,
    /// By attribute type: whether only root may read it.
    secret: Vec<bool>,
    /// By attribute type: whether nobody may read it.
    hidden: Vec<bool>,
    /// By attribute type: whether it is operational.
    operational: Vec<bool>,
    /// By attribute type: whether the server computes it.
    computed: Vec<bool>,
    dynamic: Option<ClassIndex>,
    referral: Option<ClassIndex>,
    alias: Option<ClassIndex>,
    password_policy: Option<ClassIndex>,
    subentry: Vec<ClassIndex>,
    /// Normal forms of the names of these classes.
    subentry_names: Vec<Vec<u8>>,
    /// `ref` (RFC 3296).
    pub ref_type: Option<TypeIndex>,
    /// `aliasedObjectName` (RFC 4512 §2.6.2).
    pub aliased_object_name: Option<TypeIndex>,
    /// `objectClass`.
    pub object_class: Option<TypeIndex>,
    /// `aci`, whose values are instructions of access control.
    pub aci: Option<TypeIndex>,
    /// `userPassword`.
    pub user_password: Option<TypeIndex>,
    /// `ds-privilege-name`, whose values give privileges (OpenDJ).
    pub privilege_name: Option<TypeIndex>,
    /// `nsRoleFilter`, whose values are filters.
    pub role_filter: Option<TypeIndex>,
    /// `nsAccountLock`, which keeps an entry from binding (Sun, 389).
    pub account_lock: Option<TypeIndex>,
    /// `ds-pwp-account-disabled`, which does so, too (OpenDJ).
    pub account_disabled: Option<TypeIndex>,
    /// The state of accounts.
    pub account: AccountTypes,
    /// Classes and attributes of groups.
    pub groups: GroupTypes,
    /// Classes of entries that say what other entries get.
    pub definitions: DefinitionTypes,
    /// `ds-rlim-*` and their like.
    pub own_limits: OwnLimitTypes,
}

/// Attributes whose values only root may read until access control rules exist: a hash is as good as a password to a
/// patient thief.
const SECRET: [&[u8]; 2] = [b"userPassword", b"authPassword"];

/// Attributes whose values nobody may read, whatever access control says: the server alone needs them.
const HIDDEN: [&[u8]; 2] = [b"ds-pwp-one-time-password-token", CACHED_PASSWORD.as_bytes()];

/// The classes of subentries: of RFC 3672, and of the draft that Sun's servers and their definitions of roles and
/// services use.
const SUBENTRY: [&[u8]; 2] = [b"subentry", b"ldapSubentry"];

/// Operational attributes that are computed, but not of each entry alone: where nothing defines them, nobody has them.
const DEFINED_ONLY: [&[u8]; 1] = [b"nsRole"];

impl Facts {
    /// Looks up everything in `schema`.
    #[must_use]
    pub fn new(schema: Arc<Schema>) -> Facts {
        let type_of = |name: &[u8]| schema.attribute_type(name).map(|it| it.index);
        let class_of = |name: &[u8]| schema.object_class(name).map(|it| it.index);
        let count = schema.attribute_types().iter().map(|it| it.index.0 as usize + 1).max().unwrap_or(0);
        let mut flags = [(); 4].map(|()| vec![false; count]);
        let virtual_types: Vec<_> = VirtualAttribute::ALL
            .iter()
            .filter_map(|attribute| Some((type_of(attribute.name().as_bytes())?, *attribute)))
            .collect();
        let secret: Vec<TypeIndex> = SECRET.iter().chain(&HIDDEN).filter_map(|name| type_of(name)).collect();
        let hidden: Vec<TypeIndex> = HIDDEN.iter().filter_map(|name| type_of(name)).collect();
        let mut server_owned: Vec<TypeIndex> = DEFINED_ONLY.iter().filter_map(|name| type_of(name)).collect();
        server_owned.extend(virtual_types.iter().map(|(index, _)| *index));
        for attribute in schema.attribute_types() {
            let values = [
                secret.iter().any(|it| attribute.is_subtype_of(*it)),
                hidden.iter().any(|it| attribute.is_subtype_of(*it)),
                attribute.is_operational(),
                server_owned.contains(&attribute.index),
            ];
            for (list, value) in flags.iter_mut().zip(values) {
                if let Some(flag) = list.get_mut(attribute.index.0 as usize) {
                    *flag = value;
                }
            }
        }
        let [secret, hidden, operational, computed] = flags;
        let class_rule = schema.attribute_type(b"objectClass").and_then(|attribute| attribute.equality);
        let normal = |name: &&[u8]| {
            let mut form = Vec::new();
            class_rule?.normalize(&schema, name, &mut form).ok().map(|()| form)
        };
        let subentry_names = SUBENTRY.iter().filter_map(normal).collect();
        Facts {
            virtual_types,
            secret,
            hidden,
            operational,
            computed,
            dynamic: class_of(b"dynamicObject"),
            referral: class_of(b"referral"),
            alias: class_of(b"alias"),
            password_policy: class_of(b"pwdPolicy"),
            subentry: SUBENTRY.into_iter().filter_map(class_of).collect(),
            subentry_names,
            ref_type: type_of(b"ref"),
            aliased_object_name: type_of(b"aliasedObjectName"),
            object_class: type_of(b"objectClass"),
            aci: type_of(b"aci"),
            user_password: type_of(b"userPassword"),
            privilege_name: type_of(b"ds-privilege-name"),
            account: AccountTypes::of(&schema),
            groups: GroupTypes::of(&schema),
            definitions: DefinitionTypes::of(&schema),
            own_limits: OwnLimitTypes::of(&schema),
            role_filter: type_of(b"nsRoleFilter"),
            account_lock: type_of(b"nsAccountLock"),
            account_disabled: type_of(b"ds-pwp-account-disabled"),
            schema,
        }
    }

    /// Whether only root may read values of that type.
    #[inline]
    #[must_use]
    pub fn is_secret(&self, attribute: TypeIndex) -> bool {
        self.secret.get(attribute.0 as usize).copied().unwrap_or(false)
    }

    /// Whether nobody may read values of that type.
    #[inline]
    #[must_use]
    pub fn is_hidden(&self, attribute: TypeIndex) -> bool {
        self.hidden.get(attribute.0 as usize).copied().unwrap_or(false)
    }

    /// Whether the type is operational.
    #[inline]
    #[must_use]
    pub fn is_operational(&self, attribute: TypeIndex) -> bool {
        self.operational.get(attribute.0 as usize).copied().unwrap_or(false)
    }

    /// Whether values of that type are computed, so that stored ones (of an import, say) do not count.
    #[inline]
    #[must_use]
    pub fn is_virtual(&self, attribute: TypeIndex) -> bool {
        self.computed.get(attribute.0 as usize).copied().unwrap_or(false)
    }

    /// Whether a value of `objectClass` with that normal form is the class of subentries.
    #[must_use]
    pub fn is_name_of_subentries(&self, form: &[u8]) -> bool {
        self.subentry_names.iter().any(|name| name == form)
    }

    /// Which of the server's own computed attributes a type is.
    #[inline]
    #[must_use]
    pub fn virtual_attribute(&self, attribute: TypeIndex) -> Option<VirtualAttribute> {
        self.virtual_types.iter().find(|(index, _)| *index == attribute).map(|(_, computed)| *computed)
    }

    /// The types that the server computes.
    #[must_use]
    pub fn virtual_types(&self) -> &[(TypeIndex, VirtualAttribute)] {
        &self.virtual_types
    }

    /// Whether entries of a class are password policies.
    #[must_use]
    pub fn is_password_policy(&self, class: &schema::ObjectClass) -> bool {
        self.password_policy.is_some_and(|wanted| class.is_subclass_of(wanted))
    }

    /// What a set of object classes means.
    #[must_use]
    pub fn class_flags(&self, classes: Values<'_>) -> ClassFlags {
        self.flags_of_classes(classes.iter())
    }

    /// The same of classes that are not stored yet.
    pub fn flags_of_classes<'v>(&self, classes: impl Iterator<Item = &'v [u8]>) -> ClassFlags {
        let mut flags = ClassFlags::default();
        for class in classes.filter_map(|name| self.schema.object_class(name)) {
            let is = |wanted: &Option<ClassIndex>| wanted.is_some_and(|wanted| class.is_subclass_of(wanted));
            if is(&self.referral) {
                flags = flags.with(ClassFlags::REFERRAL);
            }
            if is(&self.dynamic) {
                flags = flags.with(ClassFlags::DYNAMIC);
            }
            if is(&self.alias) {
                flags = flags.with(ClassFlags::ALIAS);
            }
            if is(&self.password_policy) {
                flags = flags.with(ClassFlags::PASSWORD_POLICY);
            }
            if self.subentry.iter().any(|wanted| class.is_subclass_of(*wanted)) {
                flags = flags.with(ClassFlags::SUBENTRY);
            }
            flags = flags.with(self.groups.flags_of(class)).with(self.definitions.flags_of(class));
        }
        flags
    }

    /// The most specific structural class among `classes` (RFC 4512 §2.4.2): what `structuralObjectClass` says.
    #[must_use]
    pub fn structural_class(&self, classes: Values<'_>) -> Option<&str> {
        let mut best: Option<&schema::ObjectClass> = None;
        for class in classes.iter().filter_map(|name| self.schema.object_class(name)) {
            let structural = class.kind() == schema::ClassKind::Structural;
            if structural && best.is_none_or(|best| class.is_subclass_of(best.index)) {
                best = Some(class);
            }
        }
        best.map(schema::ObjectClass::name)
    }
}

/// Class flags of the interned class sets of one backend, found out when first needed.
#[derive(Debug, Default)]
pub struct ClassFlagTable {
    flags: Vec<ClassFlags>,
    /// All flags of all sets together.
    any: ClassFlags,
}

impl ClassFlagTable {
    /// Looks at the class sets that came since the last time; afterwards [`ClassFlagTable::any`] speaks for every
    /// entry.
    pub fn refresh(&mut self, facts: &Facts, tables: &Tables) {
        for set in tables.class_sets_from(self.flags.len()) {
            let flags = facts.class_flags(set.values());
            self.any = self.any.with(flags);
            self.flags.push(flags);
        }
        // Sets beyond the limit are in the records, where nobody has looked.
        if self.flags.len() >= store::CLASS_SETS_MAX {
            self.any = ClassFlags::ALL;
        }
    }

    /// Forgets everything: another schema or another backend.
    pub fn clear(&mut self) {
        self.flags.clear();
        self.any = ClassFlags::default();
    }

    /// Whether some entry may have one of these.
    #[inline]
    #[must_use]
    pub fn any(&self, flags: ClassFlags) -> bool {
        self.any.has(flags)
    }

    /// The flags of one entry.
    #[inline]
    #[must_use]
    pub fn of(&self, facts: &Facts, record: &store::RecordView<'_>) -> ClassFlags {
        let known = record.header().class_set.and_then(|id| self.flags.get(id.0 as usize));
        match known {
            Some(flags) => *flags,
            None => facts.class_flags(record.object_classes()),
        }
    }
}
