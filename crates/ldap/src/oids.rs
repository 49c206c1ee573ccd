//! Object identifiers of controls, extended operations and features, with where each is specified.

#![allow(missing_docs)]

pub mod control {
    /// RFC 3296
    pub const MANAGE_DSA_IT: &str = "2.16.840.1.113730.3.4.2";
    /// RFC 2696
    pub const PAGED_RESULTS: &str = "1.2.840.113556.1.4.319";
    /// RFC 2891
    pub const SORT_REQUEST: &str = "1.2.840.113556.1.4.473";
    pub const SORT_RESPONSE: &str = "1.2.840.113556.1.4.474";
    /// draft-masarati-ldap-deref, with the number that OpenLDAP, 389 DS and their clients use.
    pub const DEREFERENCE: &str = "1.3.6.1.4.1.4203.666.5.16";
    /// draft-ietf-ldapext-ldapv3-vlv
    pub const VLV_REQUEST: &str = "2.16.840.1.113730.3.4.9";
    pub const VLV_RESPONSE: &str = "2.16.840.1.113730.3.4.10";
    /// RFC 4528
    pub const ASSERTION: &str = "1.3.6.1.1.12";
    /// RFC 4527
    pub const PRE_READ: &str = "1.3.6.1.1.13.1";
    pub const POST_READ: &str = "1.3.6.1.1.13.2";
    /// draft-armijo-ldap-treedelete
    pub const SUBTREE_DELETE: &str = "1.2.840.113556.1.4.805";
    /// RFC 3876
    pub const MATCHED_VALUES: &str = "1.2.826.0.1.3344810.2.3";
    /// RFC 3672
    pub const SUBENTRIES: &str = "1.3.6.1.4.1.4203.1.10.1";
    /// draft-ietf-ldup-subentry: the same before it was a standard, without a value.
    pub const SUBENTRIES_LDUP: &str = "1.3.6.1.4.1.7628.5.101.1";
    /// DSEE and OpenDJ
    pub const REAL_ATTRIBUTES_ONLY: &str = "2.16.840.1.113730.3.4.17";
    pub const VIRTUAL_ATTRIBUTES_ONLY: &str = "2.16.840.1.113730.3.4.19";
    /// draft-zeilenga-ldap-noop
    pub const NO_OP: &str = "1.3.6.1.4.1.4203.1.10.2";
    /// The number that OpenLDAP's clients send for it.
    pub const NO_OP_OPENLDAP: &str = "1.3.6.1.4.1.4203.666.5.2";
    /// draft-zeilenga-ldap-relax
    pub const RELAX: &str = "1.3.6.1.4.1.4203.666.5.12";
    /// RFC 6171
    pub const DONT_USE_COPY: &str = "1.3.6.1.1.22";
    /// draft-ietf-ldapext-psearch
    pub const PERSISTENT_SEARCH: &str = "2.16.840.1.113730.3.4.3";
    pub const ENTRY_CHANGE_NOTIFICATION: &str = "2.16.840.1.113730.3.4.7";
    /// RFC 4370
    pub const PROXIED_AUTHORIZATION: &str = "2.16.840.1.113730.3.4.18";
    /// draft-weltman-ldapv3-proxy
    pub const PROXIED_AUTHORIZATION_V1: &str = "2.16.840.1.113730.3.4.12";
    /// draft-ietf-ldapext-acl-model
    pub const GET_EFFECTIVE_RIGHTS: &str = "1.3.6.1.4.1.42.2.27.9.5.2";
    /// RFC 3829
    pub const AUTHORIZATION_IDENTITY_REQUEST: &str = "2.16.840.1.113730.3.4.16";
    pub const AUTHORIZATION_IDENTITY_RESPONSE: &str = "2.16.840.1.113730.3.4.15";
    /// RFC 5805
    pub const TRANSACTION_SPECIFICATION: &str = "1.3.6.1.1.21.2";
    /// draft-behera-ldap-password-policy
    pub const PASSWORD_POLICY: &str = "1.3.6.1.4.1.42.2.27.8.5.1";
    /// draft-vchu-ldap-pwd-policy: Netscape's.
    pub const PASSWORD_EXPIRED: &str = "2.16.840.1.113730.3.4.4";
    pub const PASSWORD_EXPIRING: &str = "2.16.840.1.113730.3.4.5";
    /// Sun's and OpenDJ's
    pub const ACCOUNT_USABILITY: &str = "1.3.6.1.4.1.42.2.27.9.5.8";
    /// Permissive modify of Active Directory and OpenDJ.
    pub const PERMISSIVE_MODIFY: &str = "1.2.840.113556.1.4.1413";
    /// Pando's own; `docs/reference/access-explanation.md` says what it does.
    pub const ACCESS_EXPLANATION: &str = "2.25.175513028506401587346170323351613111380.3.1";
}

pub mod extended {
    /// RFC 4511 §4.14
    pub const START_TLS: &str = "1.3.6.1.4.1.1466.20037";
    /// RFC 3062
    pub const PASSWORD_MODIFY: &str = "1.3.6.1.4.1.4203.1.11.1";
    /// RFC 4532
    pub const WHO_AM_I: &str = "1.3.6.1.4.1.4203.1.11.3";
    /// RFC 3909
    pub const CANCEL: &str = "1.3.6.1.1.8";
    /// RFC 5805
    pub const START_TRANSACTION: &str = "1.3.6.1.1.21.1";
    pub const END_TRANSACTION: &str = "1.3.6.1.1.21.3";
    /// RFC 2589
    pub const REFRESH: &str = "1.3.6.1.4.1.1466.101.119.1";
    /// OpenDJ
    pub const PASSWORD_POLICY_STATE: &str = "1.3.6.1.4.1.26027.1.6.1";
    pub const GET_CONNECTION_ID: &str = "1.3.6.1.4.1.26027.1.6.2";
    /// Pando's own; `docs/reference/administration.md` says what they do. Numbers below the UUID
    /// 840a9468-baf2-45e3-8b85-28ea0ce27c54 (ITU-T X.667), which nobody needs to register.
    pub const RELOAD_CONFIGURATION: &str = "2.25.175513028506401587346170323351613111380.1.1";
    pub const REBUILD_INDEXES: &str = "2.25.175513028506401587346170323351613111380.1.2";
    pub const SET_ACCOUNT_CLOCK: &str = "2.25.175513028506401587346170323351613111380.1.3";
    /// `docs/second-factor.md` says what it does.
    pub const SECOND_FACTOR: &str = "2.25.175513028506401587346170323351613111380.1.4";
    /// RFC 4511 §4.4.1
    pub const NOTICE_OF_DISCONNECTION: &str = "1.3.6.1.4.1.1466.20036";
}

pub mod intermediate {
    /// Pando's own: how far a job of the server is.
    pub const JOB_PROGRESS: &str = "2.25.175513028506401587346170323351613111380.2.1";
}
