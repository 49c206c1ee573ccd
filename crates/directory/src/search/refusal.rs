//! Why a search is refused or ends before its last entry, beside who asks and where names lead. Knows no request.

use ldap::ResultCode;

ldap::refusals! {
    /// See the module.
    pub(crate) enum SearchRefusal {
        Unindexed = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to perform an unindexed search";
        ExplanationNotAllowed = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to see how a search is planned (debugsearchindex): it takes \
             bypass-acl or monitor-read";
        TooManyAliases { most: usize } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "The search leads through more than {most} aliases";
        OrderedChangelog = ResultCode::UNWILLING_TO_PERFORM,
            "The changelog comes in the order of change numbers: search it without the sort and virtual list view \
             controls";

        // Ends before the last entry.
        TimeLimit = ResultCode::TIME_LIMIT_EXCEEDED,
            "The search operation took longer than its time limit allows";
        LookthroughLimit { most: u64 } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "This search operation has checked the maximum of {most} entries for matches";
        ChainLimit { most: usize } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "This search operation has followed references through the maximum of {most} entries";
        SizeLimit { most: u64 } = ResultCode::SIZE_LIMIT_EXCEEDED,
            "This search operation has sent the maximum of {most} entries to the client";
        Cancelled = ResultCode::CANCELED, "The search was cancelled";
        ChangesPurged = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "Changes that were not read yet have left the changelog while it was searched: search again";

        // Pages, order and list views.
        ForeignCookie = ResultCode::UNWILLING_TO_PERFORM,
            "The cookie of the paged results control is not one of this server: begin with an empty cookie";
        CookieOfOtherSearch = ResultCode::UNWILLING_TO_PERFORM,
            "The cookie of the paged results control belongs to another search: send the same base, scope, filter, \
             attributes and controls again";
        SortNotAllowedNow = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "While this search was running you lost the right to search by an attribute that it sorts by";
        CriticalSort { problem: String } = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, "{problem}";
        SortTooLarge { mib: usize } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "Sorting this result takes more than {mib} MiB of memory: ask for pages, set a size limit, or narrow the \
             filter";
        TooManySorts = ResultCode::BUSY,
            "Too many large results are being sorted at once: try again later, or ask for pages";
        NoSortForListView = ResultCode::SORT_CONTROL_MISSING,
            "The virtual list view control needs a server-side sort control beside it";
        FailedSortForListView = ResultCode::VIRTUAL_LIST_VIEW_ERROR,
            "The list cannot be sorted as the server-side sort control asks, so there is no view of it";
        ContextOfOtherSearch = ResultCode::VIRTUAL_LIST_VIEW_ERROR,
            "The context of the virtual list view control belongs to another search: send the same base, scope, \
             filter, attributes and sort keys again, or no context";
        ListViewTarget = ResultCode::VIRTUAL_LIST_VIEW_ERROR,
            "The value of the virtual list view control is not one of the first sort attribute";
        ListViewOffset { entries: usize } = ResultCode::VIRTUAL_LIST_VIEW_ERROR,
            "The list has {entries} entries: the offset of the virtual list view is not in it";

        // Persistent searches.
        NoChangelog = ResultCode::UNWILLING_TO_PERFORM,
            "Persistent search reports changes from the changelog, which is switched off: set enabled = true in \
             [changelog]";
        PersistentTooLarge { most: usize } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "Filter and attributes of a persistent search may have {most} bytes together";
        PersistentOfOwnEntries = ResultCode::UNWILLING_TO_PERFORM,
            "Persistent search reports changes of entries in backends: the root DSE, cn=schema, cn=monitor and \
             cn=changelog are not";
        TooManyPersistent { most: u64 } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "There are as many persistent searches as max-psearches ({most}) allows: end one, or ask for the limit to \
             be raised";
        UnreadableAgain = ResultCode::OTHER, "The request cannot be read again";
        FellBehind = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "Changes that were not read yet have left the changelog: search again to begin anew";
        DefectiveChange = ResultCode::OTHER, "A change could not be reported because of a defect of the server";
        NoThread { error: String } = ResultCode::UNAVAILABLE,
            "The server has no thread to follow changes with: {error}";
        Stopping = ResultCode::UNAVAILABLE, "The server is stopping";

        // The dereference control.
        DereferencedTooMuch { mib: usize } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "Dereferencing would add more than {mib} MiB to one entry: ask for fewer attributes, or search the entries \
             instead";
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

        // The get effective rights control.
        RightsOfNobody { value: String } = ResultCode::PROTOCOL_ERROR,
            "\"{value}\" is not valid as the identity whose rights are asked for: write dn:NAME, or dn: for anonymous";
        RightsOfNobodyBare { value: String } = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
            "\"{value}\" is not valid as the identity whose rights are asked for: write dn:NAME, or dn: for anonymous";
        SecondEffectiveRightsControl = ResultCode::PROTOCOL_ERROR,
            "The get effective rights control may be sent once: ask for the rights of one identity";
        EffectiveRightsOfChanges = ResultCode::PROTOCOL_ERROR,
            "A persistent search tells changes as they come: it takes no get effective rights control";
        RightsTooLarge { mib: usize } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "The effective rights would add more than {mib} MiB to one entry: ask for fewer attributes";
    }
}
