//! Why a search is refused, beside who asks and where names lead. Knows no request.

use ldap::ResultCode;

ldap::refusals! {
    /// See the module.
    pub(crate) enum SearchRefusal {
        SecondDereferenceControl = ResultCode::PROTOCOL_ERROR,
            "The dereference control may be sent once: list all attributes to dereference in it";
        DereferenceOfChanges = ResultCode::PROTOCOL_ERROR,
            "A persistent search tells changes as they come: it takes no dereference control";
        DereferenceOfUnknown { attribute: String } = ResultCode::PROTOCOL_ERROR,
            "The dereference control names \"{attribute}\", which is not an attribute type of the schema";
        DereferenceOfNoName { attribute: String } = ResultCode::PROTOCOL_ERROR,
            "The dereference control names \"{attribute}\", whose values are not distinguished names";
        DereferenceTwice { attribute: String } = ResultCode::PROTOCOL_ERROR,
            "The dereference control names \"{attribute}\" more than once";
    }
}
