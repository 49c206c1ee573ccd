//! What each server's file becomes.

use super::*;

/// The output and the report of a conversion.
fn converted(from: Origin, data: &str, configuration: Option<&str>) -> (String, Report) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let options = Options {
        from,
        ldif_file: file("data.ldif", data),
        configuration: configuration.map(|text| file("configuration.ldif", text)),
        output: folder.path().join("out.ldif"),
    };
    let mut report = Report::default();
    let known = known(&options, &mut report).unwrap();
    let mut output = Vec::new();
    convert(&options, &known, &mut output, &mut report).unwrap();
    // Long lines are unfolded again.
    (String::from_utf8(output).unwrap().replace("\n ", ""), report)
}

#[test]
fn slapd_keeps_its_state_and_gets_pointers() {
    let data = "dn: cn=strict,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\n\
                objectClass: pwdPolicyChecker\ncn: strict\npwdAttribute: userPassword\npwdMaxFailure: 3\n\
                pwdMaxAge: 864000\npwdCheckModule: ppm.so\n\n\
                dn: uid=ann,dc=example,dc=com\nuid: ann\npwdPolicySubentry: cn=strict,dc=example,dc=com\n\
                pwdAccountLockedTime: 000001010000Z\nauthTimestamp: 20261122095530Z\n\n";
    let configuration = "dn: olcDatabase={1}mdb,cn=config\nolcSuffix: dc=example,dc=com\n\n\
                         dn: olcOverlay={0}ppolicy,olcDatabase={1}mdb,cn=config\nobjectClass: olcPPolicyConfig\n\
                         olcPPolicyDefault: cn=strict, dc=example,dc=com\nolcPPolicyUseLockout: TRUE\n\n";
    let (output, report) = converted(Origin::Slapd, data, Some(configuration));
    let policy = "pwdAttribute: userPassword\npwdMaxFailure: 3\npwdMaxAge: 864000\npwdLockout: FALSE\n\
                  pwdCheckQuality: 0\n";
    let expected = format!(
        "dn: cn=strict,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\ncn: strict\n{policy}\n\
         dn: uid=ann,dc=example,dc=com\nuid: ann\npwdAccountLockedTime: 000001010000Z\n\
         ds-pwp-password-policy-dn: cn=strict,dc=example,dc=com\npwdLastSuccess: 20261122095530Z\n\n\
         dn: cn=Default Policy of slapd,dc=example,dc=com\nobjectClass: top\nobjectClass: subentry\n\
         objectClass: pwdPolicy\ncn: Default Policy of slapd\nsubtreeSpecification: {{ }}\n{policy}\n"
    );
    assert_eq!(output, expected);
    assert!(report.has_left_out());
    assert!(report.commands()[0].contains("--set expire-passwords-without-warning:true"));
    let nothing = "dn: cn=x\ncn: x\npwdChangedTime: 20260101000000Z\n\n";
    let (output, report) = converted(Origin::Slapd, nothing, None);
    assert_eq!((output.as_str(), report.has_left_out(), report.commands().len()), (nothing, false, 0));
}

#[test]
fn the_state_of_389_is_computed_from_its_policies() {
    let policy = "cn=of staff,cn=nsPwPolicyContainer,ou=Staff,dc=example,dc=com";
    let data = format!(
        "dn: cn=nsPwPolicyContainer,ou=Staff,dc=example,dc=com\nobjectClass: nsContainer\ncn: nsPwPolicyContainer\n\n\
         dn: {policy}\nobjectClass: ldapSubentry\nobjectClass: passwordPolicy\ncn: of staff\npasswordExp: on\n\
         passwordMaxAge: 10d\npasswordLockout: on\npasswordMaxFailure: 4\npasswordLockoutDuration: 60\n\
         passwordCheckSyntax: on\npasswordMinLength: 9\npasswordMinDigits: 2\npasswordStorageScheme: SSHA\n\n\
         dn: cn=template,cn=nsPwPolicyContainer,ou=Staff,dc=example,dc=com\nobjectClass: ldapSubentry\n\
         objectClass: cosTemplate\n\
         pwdpolicysubentry: {policy}\n\n\
         dn: cn=nsPwPolicy_CoS,ou=Staff,dc=example,dc=com\nobjectClass: cosPointerDefinition\n\
         cosAttribute: pwdpolicysubentry default operational\n\n\
         dn: uid=ann,ou=Staff,dc=example,dc=com\nuid: ann\npasswordExpirationTime: 20260111000000Z\n\
         passwordExpWarned: 1\npasswordRetryCount: 2\nretryCountResetTime: 20260101001000Z\n\
         accountUnlockTime: 20260101000200Z\npasswordHistory: 20251231000000Z{{SSHA}}old\nnsAccountLock: true\n\n\
         dn: uid=ben,dc=example,dc=com\nuid: ben\npasswordExpirationTime: 19700101000000Z\n\
         accountUnlockTime: 19700101000000Z\npasswordGraceUserTime: 2\npasswordRetryCount: 1\nlastLoginTime: never\n\n"
    );
    let configuration = "dn: cn=config\npasswordMaxAge: 8640000\npasswordExp: on\npasswordMinAge: 60\n\
                         passwordMustChange: on\npasswordLockout: off\n\n";
    let (output, report) = converted(Origin::Netscape, &data, Some(configuration));
    let expected = format!(
        "dn: cn=nsPwPolicyContainer,ou=Staff,dc=example,dc=com\nobjectClass: applicationProcess\n\
         cn: nsPwPolicyContainer\n\n\
         dn: {policy}\nobjectClass: applicationProcess\nobjectClass: pwdPolicy\ncn: of staff\n\
         pwdAttribute: userPassword\npwdMaxAge: 864000\npwdMaxFailure: 4\npwdLockoutDuration: 60\n\
         pwdCheckQuality: 1\npwdMinLength: 9\nobjectClass: pwdValidatorPolicy\n\
         ds-cfg-password-validator: cn=389 min-digits 2,cn=Password Validators,cn=config\n\n\
         dn: cn=template,cn=nsPwPolicyContainer,ou=Staff,dc=example,dc=com\nobjectClass: cosTemplate\n\
         ds-pwp-password-policy-dn: {policy}\n\n\
         dn: cn=nsPwPolicy_CoS,ou=Staff,dc=example,dc=com\nobjectClass: cosPointerDefinition\n\
         cosAttribute: ds-pwp-password-policy-dn operational-default\n\n\
         dn: uid=ann,ou=Staff,dc=example,dc=com\nuid: ann\nnsAccountLock: true\n\
         pwdChangedTime: 20260101000000.000Z\nds-pwp-warned-time: 20260110000000.000Z\n\
         pwdFailureTime: 20260101000000.000Z\npwdFailureTime: 20260101000000.001Z\n\
         pwdAccountLockedTime: 20260101000100.000Z\n\
         pwdHistory: 20251231000000.000Z#1.3.6.1.4.1.1466.115.121.1.40#{{SSHA}}old\n\n\
         dn: uid=ben,dc=example,dc=com\nuid: ben\npwdReset: TRUE\npwdGraceUseTime: 19700101000000.000Z\n\
         pwdGraceUseTime: 19700101000000.001Z\npwdAccountLockedTime: 000001010000Z\n\n"
    );
    assert_eq!(output, expected);
    assert!(report.has_left_out());
    let validator = "pando dsconfig create-password-validator --validator-name '389 min-digits 2' --type quality \
                     --set 'min-digits:2' --no-prompt";
    let default = "pando dsconfig set-password-policy-prop --policy-name 'Default Password Policy' \
                   --set 'max-password-age:8640000 s' --set 'min-password-age:60 s' \
                   --set 'lockout-failure-count:0' --set 'force-change-on-reset:true' --no-prompt";
    assert_eq!(report.commands(), [default, validator]);
}

#[test]
fn the_state_of_opendj_stays_and_its_policies_are_commands() {
    let data = "dn: uid=ann,dc=example,dc=com\nuid: ann\nds-pwp-account-disabled: true\n\
                pwdPolicySubentry: cn=x\npwdReset: true\n\n";
    let configuration = "dn: cn=Staff,cn=Password Policies,cn=config\nobjectClass: ds-cfg-password-policy\n\
                         ds-cfg-java-class: org.example.Policy\nds-cfg-lockout-failure-count: 3\n\
                         ds-cfg-password-validator: cn=Long,cn=Password Validators,cn=config\n\
                         ds-cfg-unheard-of: 1\n\n\
                         dn: cn=Long,cn=Password Validators,cn=config\n\
                         objectClass: ds-cfg-length-based-password-validator\nds-cfg-enabled: true\n\
                         ds-cfg-min-password-length: 9\n\n\
                         dn: cn=Elsewhere,cn=Password Policies,cn=config\n\
                         objectClass: ds-cfg-ldap-pass-through-authentication-policy\n\
                         ds-cfg-primary-remote-ldap-server: ldap1.example.com:636\n\n";
    let (output, report) = converted(Origin::Opendj, data, Some(configuration));
    let expected = "dn: uid=ann,dc=example,dc=com\nuid: ann\nds-pwp-account-disabled: true\npwdReset: true\n\n";
    assert_eq!((output.as_str(), report.has_left_out()), (expected, true));
    let validator = "pando dsconfig create-password-validator --validator-name 'Long' --type length-based \
                     --set 'enabled:true' --set 'min-password-length:9' --no-prompt";
    let policy = "pando dsconfig create-password-policy --policy-name 'Staff' --set 'lockout-failure-count:3' \
                  --set 'password-validator:Long' --no-prompt";
    let elsewhere = "pando dsconfig create-password-policy --policy-name 'Elsewhere' --type ldap-pass-through \
                     --set 'primary-remote-ldap-server:ldap1.example.com:636' --no-prompt";
    assert_eq!(report.commands(), [validator, policy, elsewhere]);
}
