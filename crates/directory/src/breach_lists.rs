//! What the error log says of lists of known passwords: which are in use, and which cannot be searched.

use accounts::{PasswordFault, ValidatorRule};
use config::Config;
use query::notices::{NoticeKind, Notices};

/// Tells of the lists of a configuration that was taken.
pub(crate) fn tell_of_lists(notices: &Notices, config: &Config) {
    for validator in &config.password_validators {
        if let Some(ValidatorRule::Breached(list)) = &validator.rule {
            let (name, bytes) = (list.name(), list.bytes());
            let told = format!("The list of known passwords {name} is in use ({bytes} bytes) by {}", validator.dn);
            notices.warn(NoticeKind::BreachList, &told);
        }
    }
}

/// Tells of a password that could not be looked up, once for each reason.
pub(crate) fn tell_of_fault(notices: &Notices, fault: &PasswordFault) {
    if let PasswordFault::NotChecked { list } = fault {
        let told = format!(
            "New passwords are refused, because the list of known passwords cannot be searched: {list}. Put a sorted \
             list there and say `pando reload`, or disable its password validator"
        );
        notices.warn_once_of(NoticeKind::BreachListFault, told);
    }
}
