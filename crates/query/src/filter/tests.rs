//! Filters on entries, three-valued.

use ldap::filter;
use schema::{MatchContext, Schema};

use super::{Asker, FilterScratch, ItemRights, Matcher, Node, Truth};
use crate::facts::Facts;
use crate::rights::tests::{ByUid, NoSecrets};
use crate::rights::{ReadRight, ReadRights, Unrestricted};
use crate::synthetic::{Attributes, SyntheticEntry};

fn entry(facts: &Facts) -> SyntheticEntry {
    let mut it = Attributes::new();
    it.add("objectClass", ["top", "person", "inetOrgPerson", "organizationalPerson"]);
    it.add("cn", ["Ann  Tree", "A. Tree"]);
    it.add("cn;lang-fr", ["Anne Arbre"]);
    it.add("sn", ["Tree"]);
    it.add("uidNumber", ["42"]);
    it.add("telephoneNumber", ["+1 555 0100"]);
    it.add("userPassword", ["{CLEAR}secret"]);
    it.add("createTimestamp", ["20250101120000Z"]);
    it.add("member", ["uid=bob, DC=Example,dc=com"]);
    it.add("jpegPhoto", [vec![0xff, 0xd8, 0xff]]);
    SyntheticEntry::new(facts, "uid=ann+cn=Ann Tree,ou=People,dc=example,dc=com", &it).unwrap()
}

fn truth(text: &str, rights: &dyn ReadRights) -> Truth {
    let facts = Facts::new(Schema::standard());
    let entry = entry(&facts);
    let filter = filter::parse(text).unwrap();
    let mut matcher = Matcher::default();
    // 2025-01-02 12:00:00Z
    matcher.compile(&facts, &filter.filter(), MatchContext { now_unix_seconds: 1_735_819_200 });
    let items = ItemRights::of(&matcher, &facts, ReadRight::Search, rights);
    let asker = Asker { rights, right: ReadRight::Search, items: &items };
    matcher.matches(&facts, &entry.view().unwrap(), asker, &mut FilterScratch::default()).unwrap()
}

#[test]
fn every_kind_of_filter() {
    use Truth::{False, True, Undefined};
    for (text, expected) in [
        ("(cn=ann tree)", True),
        ("(CN=ANN   TREE)", True),
        ("(commonName=a. tree)", True),
        ("(2.5.4.3=a. tree)", True),
        ("(cn=bob)", False),
        ("(name=tree)", True),
        ("(cn;lang-fr=anne arbre)", True),
        ("(cn;lang-fr=ann tree)", False),
        ("(cn;lang-de=*)", False),
        ("(name;lang-=anne arbre)", True),
        ("(objectClass=Person)", True),
        ("(objectClass=2.5.6.6)", True),
        ("(objectClass=*)", True),
        ("(mail=*)", False),
        ("(nosuch=*)", Undefined),
        ("(nosuch=x)", Undefined),
        ("(uidNumber=42)", True),
        ("(uidNumber=forty)", Undefined),
        ("(uidNumber>=42)", True),
        ("(uidNumber>=43)", False),
        ("(uidNumber<=41)", False),
        ("(uidNumber<=1000)", True),
        // Assertion values that are not of the syntax of the rule (RFC 4511 §4.5.1.7).
        ("(uidNumber=042)", Undefined),
        ("(uidNumber= 42)", Undefined),
        ("(uidNumber=-0)", Undefined),
        ("(uidNumber>=+1)", Undefined),
        ("(uidNumber:1.2.840.113556.1.4.803:=010)", Undefined),
        ("(objectClass=nosuch)", Undefined),
        ("(objectClass=1.2.3.4)", False),
        ("(objectClass=)", Undefined),
        ("(attributeTypes=nosuch)", Undefined),
        ("(attributeTypes=cn)", False),
        ("(description=)", Undefined),
        ("(description~=)", Undefined),
        ("(description>=)", Undefined),
        ("(cn:caseExactMatch:=)", Undefined),
        ("(telephoneNumber=)", Undefined),
        ("(mail=ü)", Undefined),
        ("(mail=*ü*)", Undefined),
        ("(mail=)", False),
        ("(mail=u)", False),
        ("(postalAddress=)", Undefined),
        ("(postalAddress=a\\5cx)", Undefined),
        ("(internationaliSDNNumber=12a)", Undefined),
        ("(internationaliSDNNumber=*a*)", Undefined),
        ("(entryCSN=2024)", Undefined),
        ("(!(objectClass=nosuch))", Undefined),
        ("(!(description=))", Undefined),
        ("(!(mail=ü))", Undefined),
        ("(!(telephoneNumber=))", Undefined),
        ("(|(objectClass=nosuch)(cn=ann tree))", True),
        ("(&(objectClass=nosuch)(cn=bob))", False),
        ("(!(&(objectClass=nosuch)(cn=bob)))", True),
        ("(!(|(objectClass=nosuch)(cn=bob)))", Undefined),
        // RFC 4522 §3.
        ("(cn;binary=ann tree)", Undefined),
        ("(!(cn;binary=*))", Undefined),
        ("(userCertificate;binary=*)", False),
        ("(jpegPhoto=x)", False),
        ("(jpegPhoto=*)", True),
        ("(cn=an*tr*ee)", True),
        ("(cn=*tree*tree)", False),
        ("(cn=*ann tree*)", True),
        ("(telephoneNumber=+15550100)", True),
        ("(member=UID=Bob,dc=example,dc=COM)", True),
        ("(member=bob)", Undefined),
        ("(cn~=an tri)", True),
        ("(cn:caseExactMatch:=Ann Tree)", True),
        ("(cn:caseExactMatch:=ann tree)", False),
        ("(cn:=ann tree)", True),
        ("(cn:1.2.3.4:=x)", Undefined),
        ("(cn:integerMatch:=4)", Undefined),
        ("(uidNumber:1.2.840.113556.1.4.803:=10)", True),
        ("(uidNumber:1.2.840.113556.1.4.803:=5)", False),
        ("(:caseIgnoreMatch:=TREE)", True),
        ("(:caseIgnoreMatch:=people)", False),
        ("(:dn:caseIgnoreMatch:=people)", True),
        ("(ou=people)", False),
        ("(ou:dn:=People)", True),
        ("(uid:dn:=ann)", True),
        ("(uid:dn:=bob)", False),
        ("(createTimestamp>=20250101000000Z)", True),
        ("(createTimestamp:1.3.6.1.4.1.26027.1.4.6:=-1h)", True),
        ("(createTimestamp:1.3.6.1.4.1.26027.1.4.5:=-1h)", False),
        ("(&)", True),
        ("(|)", False),
        ("(!(cn=bob))", True),
        ("(!(nosuch=x))", Undefined),
        ("(&(cn=ann tree)(nosuch=x))", Undefined),
        ("(&(cn=bob)(nosuch=x))", False),
        ("(|(cn=ann tree)(nosuch=x))", True),
        ("(|(cn=bob)(nosuch=x))", Undefined),
        ("(&(|(cn=bob)(sn=tree))(!(|(mail=*)(cn=x))))", True),
        ("(structuralObjectClass=inetOrgPerson)", True),
        ("(entryDN=cn=ann tree+UID=ann,ou=people,dc=example,dc=com)", True),
        ("(subschemaSubentry=cn=Schema)", True),
        ("(hasSubordinates=FALSE)", True),
    ] {
        assert_eq!(truth(text, &Unrestricted), expected, "{text}");
    }
}

#[test]
fn what_may_not_be_read_is_undefined() {
    assert_eq!(truth("(userPassword=*)", &Unrestricted), Truth::True);
    for text in ["(userPassword=*)", "(!(userPassword=*))", "(userPassword=secret)", "(userPassword;x-a=*)"] {
        assert_eq!(truth(text, &NoSecrets), Truth::Undefined, "{text}");
    }
}

/// One compiled filter holds for every asker: what it may ask is looked up beside it.
#[test]
fn a_right_that_depends_on_the_entry_is_asked_with_the_entry() {
    let facts = Facts::new(Schema::standard());
    let filter = filter::parse("(sn=frost)").unwrap();
    let mut matcher = Matcher::default();
    matcher.compile(&facts, &filter.filter(), MatchContext::default());
    let truth = |uid: Option<&str>, rights: &dyn ReadRights| {
        let mut attributes = Attributes::new();
        attributes.add("sn", ["Frost"]);
        attributes.add("uid", uid);
        let entry = SyntheticEntry::new(&facts, "cn=x", &attributes).unwrap();
        let items = ItemRights::of(&matcher, &facts, ReadRight::Search, rights);
        let asker = Asker { rights, right: ReadRight::Search, items: &items };
        matcher.matches(&facts, &entry.view().unwrap(), asker, &mut FilterScratch::default()).unwrap()
    };
    assert_eq!(truth(Some("ann"), &ByUid), Truth::True);
    assert_eq!(truth(None, &ByUid), Truth::Undefined);
    assert_eq!(truth(None, &Unrestricted), Truth::True);
    let asked = ItemRights::of(&matcher, &facts, ReadRight::Search, &ByUid);
    assert!(asked.asks() && !asked.is_all());
    assert!(matches!(matcher.without(&asked).nodes(), [Node::Item(_)]), "candidates are found nevertheless");
}
