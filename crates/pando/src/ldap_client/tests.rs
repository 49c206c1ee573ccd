//! Logins from options.

use super::login::{LoginError, SaslLogin};

fn refused(options: &[&str]) -> LoginError {
    let options: Vec<String> = options.iter().map(|it| (*it).to_owned()).collect();
    SaslLogin::from_options(&options).err().unwrap()
}

#[test]
fn sasl_options_make_a_login_or_say_what_is_wrong() {
    let options = ["mech=scram-sha-256", "authid=user.1", "authzid=u:user.2"].map(str::to_owned);
    let login = SaslLogin::from_options(&options).unwrap();
    assert_eq!((login.authid.as_str(), login.authzid.as_deref()), ("user.1", Some("u:user.2")));
    assert!(login.has_password());
    assert!(!SaslLogin::from_options(&["mech=EXTERNAL".to_owned()]).unwrap().has_password());
    assert_eq!(refused(&["mech"]), LoginError::Form("mech".to_owned()));
    assert_eq!(refused(&["authid=x"]), LoginError::NoMechanism);
    assert_eq!(refused(&["mech=GSSAPI"]), LoginError::Mechanism("GSSAPI".to_owned()));
    assert_eq!(refused(&["mech=PLAIN", "realm=x"]), LoginError::Unknown("realm".to_owned()));
    assert_eq!(refused(&["mech=PLAIN"]), LoginError::NoUser("PLAIN"));
    assert_eq!(refused(&["mech=EXTERNAL", "authid=x"]), LoginError::Unused { option: "authid", mechanism: "EXTERNAL" });
}
