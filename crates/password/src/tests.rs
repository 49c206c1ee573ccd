//! Vectors from other implementations: glibc's and libxcrypt's crypt, slappasswd, libargon2, OpenSSL, Python's hashlib,
//! Java's ciphers, and the two strings of the seeds.

#![allow(clippy::unwrap_used)]

use super::*;

/// As little work as can be, for tests that make values in every scheme.
fn cheap() -> Parameters {
    let mut parameters = Parameters::default();
    parameters.set_bcrypt_cost(4).unwrap();
    parameters.set_argon2(Argon2Parameters::new(Argon2Variant::Id, 64, 1, 1).unwrap());
    for scheme in [Scheme::Pbkdf2, Scheme::Pbkdf2HmacSha256, Scheme::Pbkdf2HmacSha512] {
        parameters.set_iterations(scheme, 10).unwrap();
    }
    for scheme in [Scheme::ScramSha1, Scheme::ScramSha256, Scheme::ScramSha512] {
        parameters.set_iterations(scheme, SCRAM_ITERATIONS_MIN).unwrap();
    }
    parameters
}

/// Stored forms of `password`.
const OF_PASSWORD: &[&str] = &[
    // S0-50: the two values that the source documents print.
    "{SSHA}cchzM+LrPCvbZdthOC8e62d4h7a4CfoNvl6d/w==",
    "{SSHA512}eTGiwtTM4niUKNkEBy/9t03UdbsyYTL1ZXhy6uFnw4X0T6Y9Zf5/dS7hDIdx3/UTlUQ/9JjNV9fOg2BkmVgBhWWu5WpWKPog",
    "password",
    "{CLEAR}password",
    "{cleartext}password",
    "{BASE64}cGFzc3dvcmQ=",
    "{MD5}X03MO1qnZdYdgyfeuILPmQ==",
    "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
    "{sha}W6ph5Mm5Pz8GgiULbPgzG37mj9g",
    "{SHA256}XohImNooBHFR0OVvjcYpJ3NgPQ1qq73WKhHvch0VQtg=",
    "{SHA384}qLZLq9CsqRpZvbt3YbQh1PK7OCgNOnW6DyHyvrxFWD1EbFmGYMlM5oDEfRnDB4On",
    "{SHA512}sQnzu7wkTrgkQZF+0G1hi5AI3Qmzvv0bXgc5THBqi7mAsdd4Xll27ASbRt9fEyavWi6m0QP9B8lThf+rDKy8hg==",
    "{SMD5}0oJ9ci+vdcBbgECrANkN7vr7/P3+/wEC",
    "{SMD5}dgqoTKrG4F4XwtZT8DjVHkR0mu0=",
    "{SSHA}IcMKUc/EFF5Qa+LU/0JaXSGAaun6+/z9/v8BAg==",
    "{SSHA256}WN31qB7b84Dl1EmUvpJILu+H1VIQi2QbH1H8S/UunaL6+/z9/v8BAg==",
    "{SSHA384}6Yo99gUygYNp6RuFX7fE+ARr6DURlpuITiYaV5ICV2pZ18fKVlrl6sz7xEVV3FB0+vv8/f7/AQI=",
    "{SSHA512}5IB4vKvtQsnhcQPoBXfnKcGftUVbYzQakhIQQhjOZrdI+eCwtiqiP7nnl/GeO3tQHX6tplnlPbJKYuVm9jL8vvr7/P3+/wEC",
    "{SSHA512}BVrdeaiWssL0u3R6Bll+GNM46bX9B3GigteemknKfZhEZHE97KOa5WgPch340QReDXUWcJpPSpQd23exn38gUO7A/kem4/wV",
    "{PBKDF2}1000:jyDlypL12pJE0IZ0lI43RZqpD1H6+/z9/v8BAg==",
    "{PBKDF2}1000$.vv8/f7/AQI$jyDlypL12pJE0IZ0lI43RZqpD1E",
    "{PBKDF2}10000$2JHGjpfScTvliwJAmu7aiQ$.7YW9mryB2Mi4fZLojNpBLkTrkQ",
    "{PBKDF2-HMAC-SHA256}1000:RfxjQPN533AQVjMh6o0qHVL+nI4uiImD/8J/EzbK+s36+/z9/v8BAg==",
    "{PBKDF2-SHA256}1000$.vv8/f7/AQI$RfxjQPN533AQVjMh6o0qHVL.nI4uiImD/8J/EzbK.s0",
    "{PBKDF2-SHA256}1000$+vv8/f7/AQI=$RfxjQPN533AQVjMh6o0qHVL+nI4uiImD/8J/EzbK+s0=",
    "{PBKDF2-HMAC-SHA512}1000:uvwJic8nrvcLNzMWKxkc7HWy9CUeAu7/ikrnKk7qOBAK9hk3HRLKktYwjfIycs/Vq3635hUd7Bf0OcDURekEbfr\
     7/P3+/wEC",
    "{PBKDF2-SHA512}1000$.vv8/f7/AQI$uvwJic8nrvcLNzMWKxkc7HWy9CUeAu7/ikrnKk7qOBAK9hk3HRLKktYwjfIycs/Vq3635hUd7Bf0OcDU\
     RekEbQ",
    "{PBKDF2_SHA256}AAAIAAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj+8pLAIc\
     obHChz77Wj/GSI+DDyc1R0a2A87X7JFA8BtkOnULo3AryghcRXtpBQXEIqeQGprAedxA9XmFIjRIlEv5MyJlzthA/7IuCGDDUid2srGWnXg+HW9l\
     XyusHnxid3srBX/CYdJ5fWWDBccGIGXcrJ5kWB+6KjtcEE1ad2fTwXeMD5ae4s/QWGUnZfYvG2IhBOiKWsCs0Bz1peLIT4DoukwOYpGdhrbzIUUj\
     1hgDAnrLbZ7V/TiuMEh4AdYhRZPwiEpfWwB9rjmPz2kpxeceiTK+zqyzLKueF50KqfNbLCzQCTDbPHJiqv83KlDcyG7mWW1RBcfPDDnknEg5aoG",
    "{PKCS5S2}AAECAwQFBgcICQoLDA0OD44+L3PD62OQqBq7yBAcA0OwF6ev//tatl4TTwkJ3Mos",
    "{CRYPT}$1$abcdefgh$G//4keteveJp0qb8z2DxG/",
    "{CRYPT}$1$x$ntiM1/Tz/A.K1foNwVMof0",
    "{CRYPT}$5$saltstring$OH4IDuTlsuTYPdED1gsuiRMyTAwNlRWyA6Xr3I4/dQ5",
    "{CRYPT}$5$rounds=1000$roundstoolow$C7LgBKoW9Cpd8uupMmg0Kv0Lud0icu6mTwa7mcvsVSC",
    "{CRYPT-SHA512}$6$rounds=1400$anotherlongsalt$jjf9poG5TFCiZFUupSV7K/QnQ3sxpgHHRdZo25EkyC25PB1jHaS503E6Zv5U6cuB8nW\
     cPIQa1ftVKKxLtS/Kb/",
    "{CRYPT}$2b$05$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu",
    "{BCRYPT}$2a$04$UuTkLRZZ6QofpDOlMz32MuuxEHA43WOemOYHPz6.SjsVsyO1tDU96",
    "{CRYPT}$y$j9T$F5Jx5fExrKuPp53xLKQ..1$tnSYvahCwPBHKZUspmcxMfb0.WiB9W.zEaKlOBL35rC",
    "{SCRAM-SHA-1}4096:AAECAwQFBgcICQoLDA0ODw==$SjXiaB2hLRr8aMUyXMVEw7H1jSI=:FilAoFIclBukd3xZxBvYMXTU3HM=",
    "{SCRAM-SHA-256}4096:AAECAwQFBgcICQoLDA0ODw==$4PSH04DiBM59z6mw0gs6x1r6+duXYQ+R0KwGZr+W5/o=:IgPInY95tTazYxnARISZb\
     /eTxuX/JRwWgrM9ByaOUIk=",
    "{SCRAM-SHA-256}SCRAM-SHA-256$4096:AAECAwQFBgcICQoLDA0ODw==$4PSH04DiBM59z6mw0gs6x1r6+duXYQ+R0KwGZr+W5/o=:IgPInY95\
     tTazYxnARISZb/eTxuX/JRwWgrM9ByaOUIk=",
    "{SCRAM-SHA-256}4096,AAECAwQFBgcICQoLDA0ODw==,4PSH04DiBM59z6mw0gs6x1r6+duXYQ+R0KwGZr+W5/o=,IgPInY95tTazYxnARISZb\
     /eTxuX/JRwWgrM9ByaOUIk=",
    "{SCRAM-SHA-512}4096:AAECAwQFBgcICQoLDA0ODw==$2qlEWR10dR22SMiWs3QfFJWs1HLjxnpimsfIjn2d/nA/w9WhvKlNkj+rlKyE7hvvIF\
     aMOlhGe5DFRnBMyHaU2g==:8cOZDVP2DJfqsF3T/4HP8Tul3B/tAzWJ8hMX6AYsakYq+MOKbx3jGuVQFtYsSqweVjd1TiFDjy4z94aGVT917w==",
    "{SCRYPT}$scrypt$ln=10,r=8,p=2$AAECAwQFBgcICQoLDA0ODw$2fs6JV7IbiGgyjyPIxLxLLy5vXNrhQ+FJbFF9Dg9WqE",
    "{SCRYPT}$s0$a0802$AAECAwQFBgcICQoLDA0ODw==$2fs6JV7IbiGgyjyPIxLxLLy5vXNrhQ+FJbFF9Dg9WqE=",
    "{CRYPT}$7$8/..../....saltsalt$/WbM.5vPtfK4Ugf3Euryft7Z5Dr/N1W33hL6yU7N3sB",
    "{CRYPT}$7$86..../....SodiumChloride$EpCASp8./1NgpxQjnNIPTkbOf.pRFn2/mH5ohZvbr39",
    "{NS-MTA-MD5}b8e933b7768d5c5fb798d49cd16da2fa0123456789abcdef0123456789ABCDEF",
    "{APR1}QxoqaFP7wyeDBVvQUX2p5mFiY2RlZmdo",
    "{BSDMD5}GKvVKvQ/EJpaffFSUrC7gmFiY2RlZmdo",
    "{ARGON2}$argon2id$v=19$m=1024,t=2,p=4$MDEyMzQ1Njc4OWFiY2RlZg$CeVJLJzhmOMv6VGm7XWFq52ke9CBU6L6YxTrEx/K16E",
    "{ARGON2}$argon2d$v=19$m=1024,t=2,p=4$MDEyMzQ1Njc4OWFiY2RlZg$OCGEmIVi+XtqArF1KYI+M1glI2csLWNAVm/4ot51qYQ",
    "{ARGON2}$argon2i$v=19$m=1024,t=2,p=4$MDEyMzQ1Njc4OWFiY2RlZg$anNx1MbPgTmstsKQQnRoLVSKdGM6fejzZr5u7JJq+IY",
    "{ARGON2}$argon2i$v=19$m=4096,t=3,p=1$ApZhvnoKbHtZmcyGPewN5g$NNwKmerpNKqRfULzLP3GdquFJ+crpT27G+ZPO9pPyjE",
];

#[test]
fn other_servers_values_verify() {
    for stored in OF_PASSWORD {
        assert!(verify(stored.as_bytes(), b"password"), "{stored}");
        assert!(!verify(stored.as_bytes(), b"passwore"), "{stored}");
        assert!(!verify(stored.as_bytes(), b""), "{stored}");
        assert_eq!(is_encoded(stored.as_bytes()), stored.starts_with('{'), "{stored}");
        assert_eq!(unverifiable(stored.as_bytes()), None, "{stored}");
    }
}

#[test]
fn md5_crypt_of_long_and_empty_passwords() {
    let long = "a much longer pässword, longer than sixteen";
    assert!(verify(b"{CRYPT}$1$12345678$psWm9//hR91bGFMqnlFIk/", long.as_bytes()));
    assert!(verify(b"{CRYPT}$1$12345678$xek.CpjQUVgdf/P2N9KQf/", b""));
}

#[test]
fn the_table_is_in_the_order_of_the_enum() {
    for scheme in Scheme::all() {
        assert_eq!(Scheme::all().nth(scheme as usize), Some(scheme));
        assert_eq!(Scheme::from_name(scheme.config_name()), Some(scheme));
        assert_eq!(Scheme::from_name(&scheme.prefix().to_lowercase()), Some(scheme));
    }
    assert_eq!(Scheme::from_name("Salted SHA-512"), Some(Scheme::SaltedSha512));
    assert_eq!(Scheme::from_name("ROT13"), None);
}

// S0-50: every scheme encodes, and what it encodes verifies.
#[test]
fn what_is_encoded_verifies() {
    for scheme in Scheme::all() {
        let salt: Vec<u8> = (1..=scheme.salt_bytes() as u8).collect();
        let stored = encode(scheme, &cheap(), "pässword".as_bytes(), &salt).unwrap();
        let text = String::from_utf8_lossy(&stored).into_owned();
        assert!(text.starts_with(&format!("{{{}}}", scheme.prefix())), "{text}");
        assert!(verify(&stored, "pässword".as_bytes()), "{text}");
        assert!(!verify(&stored, b"password"), "{text}");
        assert_eq!(is_slow(&stored), scheme.is_slow(), "{text}");
        assert_eq!(scheme_of(&stored), Some(scheme), "{text}");
        assert_eq!(encode(scheme, &cheap(), b"", &salt), None);
    }
}

// S0-49: 8 bytes of salt behind 20 bytes of digest.
#[test]
fn ssha_has_eight_bytes_of_salt() {
    let stored =
        encode(Scheme::SaltedSha1, &Parameters::default(), b"password", &[0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, 1, 2])
            .unwrap();
    assert_eq!(stored, b"{SSHA}IcMKUc/EFF5Qa+LU/0JaXSGAaun6+/z9/v8BAg==");
}

#[test]
fn argon2_is_written_as_openldap_reads_it() {
    let stored =
        String::from_utf8(encode(Scheme::Argon2, &Parameters::default(), b"password", b"0123456789abcdef").unwrap())
            .unwrap();
    assert!(stored.starts_with("{ARGON2}$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$"), "{stored}");
}

#[test]
fn values_that_ask_for_too_much_or_prove_nothing_match_nothing() {
    for stored in [
        "{SSHA}",
        "{SSHA}AAAA",
        "{SSHA}no base64 at all!",
        "{PBKDF2}99999999:jyDlypL12pJE0IZ0lI43RZqpD1H6+/z9/v8BAg==",
        "{PBKDF2}0:jyDlypL12pJE0IZ0lI43RZqpD1H6+/z9/v8BAg==",
        "{PBKDF2-SHA256}1000$.vv8/f7/AQI$",
        "{PBKDF2-SHA256}1000$.vv8/f7/AQI$Rfxj",
        "{PBKDF2_SHA256}AAAI",
        "{ARGON2}$argon2id$v=19$m=4194304,t=3,p=1$ApZhvnoKbHtZmcyGPewN5g$NNwKmerpNKqRfULzLP3GdquFJ+crpT27G+ZPO9pPyjE",
        "{ARGON2}$argon2id$v=19$m=4096,t=3,p=1$ApZhvnoKbHtZmcyGPewN5g$",
        "{ARGON2}$argon2id$v=19$m=4096,t=3,p=0$ApZhvnoKbHtZmcyGPewN5g$NNwKmerpNKqRfULzLP3GdquFJ+crpT27G+ZPO9pPyjE",
        "{CRYPT}$6$rounds=999999999$salt$jjf9poG5TFCiZFUupSV7K/QnQ3sxpgHHRdZo25EkyC25PB1jHaS503E6Zv5U6cuB8nWcPIQa1ftV\
         KKxLtS",
        "{CRYPT}$2b$31$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu",
        "{CRYPT}$y$jzzzz$F5Jx5fExrKuPp53xLKQ..1$tnSYvahCwPBHKZUspmcxMfb0.WiB9W.zEaKlOBL35rC",
        "{CRYPT}$y$j9T$F5Jx5fExrKuPp53xLKQ..1$",
        "{CRYPT}$1$abcdefgh$",
        "{CRYPT}abcdefghijklm",
        "{CRYPT}",
        "{SCRAM-SHA-1}",
        "{SCRAM-SHA-1}0:AAECAwQFBgcICQoLDA0ODw==$SjXiaB2hLRr8aMUyXMVEw7H1jSI=:FilAoFIclBukd3xZxBvYMXTU3HM=",
        "{SCRAM-SHA-1}4096:AAECAwQFBgcICQoLDA0ODw==$SjXiaB2hLRr8aMUyXMVEw7H1jSI=",
        "{SCRAM-SHA-1}99999999:AAECAwQFBgcICQoLDA0ODw==$SjXiaB2hLRr8aMUyXMVEw7H1jSI=:FilAoFIclBukd3xZxBvYMXTU3HM=",
        "{SCRAM-SHA-256}4096:AAECAwQFBgcICQoLDA0ODw==$SjXiaB2hLRr8aMUyXMVEw7H1jSI=:FilAoFIclBukd3xZxBvYMXTU3HM=",
        "{SASL}password",
        "{AES}password",
        "{AES-TUhNR0NTcUdTSWIzRFFFRkRUQm1NRVVHQ1NxR1NJYjNEUUVGRERBNEJDUmlaR1kyWldNMlpDMWpOREEz}c2VjcmV0",
        "{SCRYPT}$scrypt$ln=20,r=8,p=2$AAECAwQFBgcICQoLDA0ODw$2fs6JV7IbiGgyjyPIxLxLLy5vXNrhQ+FJbFF9Dg9WqE",
        "{SCRYPT}$scrypt$ln=10,r=8,p=0$AAECAwQFBgcICQoLDA0ODw$2fs6JV7IbiGgyjyPIxLxLLy5vXNrhQ+FJbFF9Dg9WqE",
        "{SCRYPT}$scrypt$ln=10,r=8,p=2$AAECAwQFBgcICQoLDA0ODw$",
        "{CRYPT}$7$",
        "{NS-MTA-MD5}b8e933b7768d5c5fb798d49cd16da2fa",
        "{APR1}QxoqaFP7",
        "{KERBEROS}user@EXAMPLE.COM",
        "{GOST_YESCRYPT}$gy$j75$saltsalt$alEjttPHP1Pyq8wZbXA3pMnpzIP5jexH1Cct9i6ezD2",
    ] {
        assert!(!verify(stored.as_bytes(), b"password"), "{stored}");
        assert!(is_encoded(stored.as_bytes()), "{stored}");
        assert!(unverifiable(stored.as_bytes()).is_some(), "{stored}");
    }
}

#[test]
fn a_clear_password_may_begin_with_a_brace() {
    assert!(!is_encoded(b"{smile}"));
    assert!(verify(b"{smile}", b"{smile}"));
    assert!(!is_slow(b"{smile}"));
}

#[test]
fn generated_passwords_differ_and_read_well() {
    let (first, second) = (generate().unwrap(), generate().unwrap());
    assert_eq!(first.len(), GENERATED_LENGTH);
    assert_ne!(first, second);
    assert!(first.iter().all(|byte| byte.is_ascii_alphanumeric() && !b"0Oo1lI".contains(byte)));
}

/// The exchanges that RFC 5802 §5 and RFC 7677 §3 print, checked with the keys of the password `pencil`.
#[test]
fn scram_keys_prove_the_exchanges_of_the_rfcs() {
    let exchanges = [
        (
            ScramHash::Sha1,
            "QSXCR+Q6sek8bf92",
            "n=user,r=fyko+d2lbbFgONRv9qkxdawL,\
             r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096,\
             c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j",
            "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
            "rmF9pqV8S7suAoZWja4dJRkFsKQ=",
        ),
        (
            ScramHash::Sha256,
            "W22ZaJ0SNY7soEsUEjb6gQ==",
            "n=user,r=rOprNGfwEbeRWgbNEkqO,\
             r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
             c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
            "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
            "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        ),
    ];
    let decode = |text: &str| digest::decode_base64(text.as_bytes(), &mut [0u8; 64]).unwrap().to_vec();
    for (hash, salt, message, proof, signature) in exchanges {
        let keys = ScramKeys::of_password(hash, b"pencil", &decode(salt), 4096);
        assert_eq!(keys.hash.hmac(&keys.server_key, message.as_bytes()), decode(signature));
        let of_client = keys.hash.hmac(&keys.stored_key, message.as_bytes());
        let client_key: Vec<u8> = of_client.iter().zip(decode(proof)).map(|(left, right)| left ^ right).collect();
        assert_eq!(keys.hash.digest(&client_key), keys.stored_key);
    }
}

#[test]
fn scram_keys_come_out_of_the_stored_value() {
    let stored = encode(Scheme::ScramSha256, &Parameters::default(), b"password", &[7; 16]).unwrap();
    let keys = scram_keys(&stored, ScramHash::Sha256).unwrap();
    assert_eq!((keys.iterations, keys.salt.as_slice()), (10_000, &[7u8; 16][..]));
    assert_eq!(keys, ScramKeys::of_password(ScramHash::Sha256, b"password", &[7; 16], 10_000));
    assert_eq!(scram_keys(&stored, ScramHash::Sha512), None, "keys of another mechanism");
    assert_eq!(scram_keys(b"{SSHA}cchzM+LrPCvbZdthOC8e62d4h7a4CfoNvl6d/w==", ScramHash::Sha1), None);
    assert!(!format!("{keys:?}").contains("key"), "keys are not printed");
}

/// RFC 4013 §3's examples; a password it does not take is used as it is.
#[test]
fn scram_passwords_are_prepared() {
    assert_eq!(prepare("I\u{ad}X").as_deref(), Some("IX"));
    assert_eq!(prepare("user").as_deref(), Some("user"));
    assert_eq!(prepare("USER").as_deref(), Some("USER"));
    assert_eq!(prepare("\u{aa}").as_deref(), Some("a"));
    assert_eq!(prepare("\u{2168}").as_deref(), Some("IX"));
    assert_eq!(prepare("\u{7}"), None, "a control character");
    assert_eq!(prepare("\u{627}1"), None, "mixed directions");
    assert_eq!(prepare("\u{ad}"), None, "nothing left");
    // Made by Python's hashlib from "IX".
    let of_ix = "{SCRAM-SHA-256}4096:AAECAwQFBgcICQoLDA0ODw==$Hvybl93RfCHqfqLiTzsBHz9FA2JH0lY8NzX3ES+JAB0=:36RFvraaEsq6\
                 EdU8f0zs6/hpb0vgxhjNZecZXSUZKgs=";
    for same in ["IX", "I\u{ad}X", "\u{2168}"] {
        assert!(verify(of_ix.as_bytes(), same.as_bytes()), "{same:?}");
    }
    for clear in ["\u{ad}".as_bytes(), "🜁".as_bytes(), b"\xff\xfe"] {
        let stored = encode(Scheme::ScramSha1, &Parameters::default(), clear, &[7; 16]).unwrap();
        assert!(verify(&stored, clear), "{clear:?}");
    }
}

/// Made by Java's ciphers as OpenDJ calls them: the same keys, transformations and order of parts.
#[test]
fn opendj_encrypted_passwords_verify_with_the_key_and_name_it_without() {
    const LONG: &str = "a passphrase that is longer than two blocks of any cipher";
    let values = [
        ("password", "{AES}AQARIjNEVWZ3iJmqu8zd7v/IycrLzM3Oz9DR0tPU1dbXjI4tGt4YWlA="),
        ("password", "{AES}AQARIjNEVWZ3iJmqu8zd7vDIycrLzM3Oz9DR0tPU1dbXebu0uJ33BnE="),
        ("password", "{3DES}ARARIjNEVWZ3iJmqu8zd7v/IycrLzM3Oz5HG1vdVi7iH"),
        ("password", "{BLOWFISH}ASARIjNEVWZ3iJmqu8zd7v/IycrLzM3Oz7iFu+WI//TW"),
        ("password", "{RC4}ATARIjNEVWZ3iJmqu8zd7v81oYH0W6yuiA=="),
        (
            LONG,
            "{AES}AQARIjNEVWZ3iJmqu8zd7v/IycrLzM3Oz9DR0tPU1dbXnc8uCNoEWFxDn3hpk5XqLfiIFfqpi+8eBqCqIhU2o385R+Rfqy91nJk0z\
             cgyJ+JTqx4EosWLiwEh",
        ),
        (
            LONG,
            "{3DES}ARARIjNEVWZ3iJmqu8zd7v/IycrLzM3Oz4CH1eVRl7qL7ed0GyxJIj5xj/28JpccyrP/RA0bFYZg9w2Fo6LGJIfKbKnpEJR3pO\
             /iidlsWJB38A==",
        ),
        (
            LONG,
            "{BLOWFISH}ASARIjNEVWZ3iJmqu8zd7v/IycrLzM3Oz6nEuPeM4/bahxj/4gkfHLkhbpxAvSH4gReGceNezkkZWwLHwqQhJzQ2pLHvRz\
             zCvFX2FS3SyQhHqw==",
        ),
        (
            LONG,
            "{RC4}ATARIjNEVWZ3iJmqu8zd7v8k4ILmX7CshFd8iqxdh9zVdpaOb0mIXT/a8LHGMKx+NGns5SdH4I6S3bbEyciiTkWrasgpubZRtFo=",
        ),
    ];
    for (clear, stored) in values {
        assert!(!verify(stored.as_bytes(), clear.as_bytes()), "{stored}");
        assert!(matches!(unverifiable(stored.as_bytes()), Some(Unverifiable::NoKey(_))), "{stored}");
        assert!(!is_slow(stored.as_bytes()));
    }
    let why = unverifiable(values[0].1.as_bytes()).unwrap().to_string();
    assert!(why.contains("the key 00112233-4455-6677-8899-aabbccddeeff,"), "{why}");
    let keys = "# from cn=secret keys,cn=admin data\n\n\
        00112233-4455-6677-8899-aabbccddeeff AES/CFB/NoPadding 01080f161d242b323940474e555c636a\n\
        00112233-4455-6677-8899-aabbccddeef0 AES/CFB/NoPadding \
        01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3da\n\
        10112233-4455-6677-8899-aabbccddeeff DESede/CFB/NoPadding 01080f161d242b323940474e555c636a71787f868d949ba2\n\
        20112233-4455-6677-8899-aabbccddeeff Blowfish/CFB/NoPadding 01080f161d242b323940474e555c636a\n\
        30112233-4455-6677-8899-aabbccddeeff RC4/NONE/NoPadding 01080f161d242b323940474e555c636a\n";
    let ring = KeyRing::read(keys).unwrap();
    assert_eq!(ring.len(), 5);
    assert!(!format!("{ring:?}").contains("01080f"), "keys are not printed");
    set_keys(ring);
    for (clear, stored) in values {
        assert!(verify(stored.as_bytes(), clear.as_bytes()), "{stored}");
        assert!(!verify(stored.as_bytes(), b"passwore"), "{stored}");
        assert_eq!(clear_text(stored.as_bytes()).unwrap().as_slice(), clear.as_bytes(), "{stored}");
        assert_eq!((unverifiable(stored.as_bytes()), scheme_of(stored.as_bytes())), (None, None), "{stored}");
    }
    for damaged in ["{AES}", "{AES}AQARIjNEVWZ3iJmqu8zd7v/I", "{AES}AgARIjNEVWZ3iJmqu8zd7v/IycrLzM3Oz9DR0tPU1dbXjI4t"] {
        assert_eq!(unverifiable(damaged.as_bytes()), Some(Unverifiable::Damaged), "{damaged}");
    }
    set_keys(KeyRing::default());
}

#[test]
fn a_file_of_keys_says_which_line_is_wrong() {
    const ID: &str = "00112233-4455-6677-8899-aabbccddeeff";
    let cases = [
        (format!("{ID} AES/CFB/NoPadding"), KeyProblem::Words),
        ("0011 AES/CFB/NoPadding 00".to_owned(), KeyProblem::Id),
        (format!("{ID} AES/CBC/PKCS5Padding 00"), KeyProblem::Transformation),
        (format!("{ID} AES/CFB/NoPadding 0011"), KeyProblem::Key),
        (format!("{ID} AES/CFB/NoPadding 0g080f161d242b323940474e555c636a"), KeyProblem::Key),
        (format!("{ID} RC4/NONE/NoPadding 01080f161d242b323940474e555c636"), KeyProblem::Key),
    ];
    for (line, problem) in cases {
        let text = format!("# keys\n{line}\n");
        assert_eq!(KeyRing::read(&text).unwrap_err(), KeyFileError { line: 2, problem }, "{line}");
    }
    let many = format!("{ID} RC4/NONE/NoPadding 01080f161d242b323940474e555c636a\n").repeat(1001);
    assert_eq!(KeyRing::read(&many).unwrap_err(), KeyFileError { line: 1001, problem: KeyProblem::TooMany });
}

#[test]
fn why_no_password_matches_is_said() {
    for (stored, why) in [
        ("{SASL}user@example.com", Unverifiable::OtherProgram("SASL")),
        ("{UNIX}user", Unverifiable::OtherProgram("UNIX")),
        ("{CRYPT}abJnggxhB/yWI", Unverifiable::UnknownScheme("CRYPT (DES)")),
        ("{TOTP1ANDPW}secret|{SSHA}x", Unverifiable::UnknownScheme("TOTP…ANDPW")),
        ("{SSHA}rubbish", Unverifiable::Damaged),
        ("{CRYPT}$2b$31$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu", Unverifiable::TooCostly),
        (
            "{ARGON2}$argon2id$v=19$m=4194304,t=1,p=1$ApZhvnoKbHtZmcyGPewN5g$NNwKmerpNKqRfULzLP3GdquFJ+crpT27G\
             +ZPO9pPyjE",
            Unverifiable::TooCostly,
        ),
        (
            "{SCRYPT}$scrypt$ln=22,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$2fs6JV7IbiGgyjyPIxLxLLy5vXNrhQ+FJbFF9Dg9WqE",
            Unverifiable::TooCostly,
        ),
        ("{PBKDF2}99999999:jyDlypL12pJE0IZ0lI43RZqpD1H6+/z9/v8BAg==", Unverifiable::TooCostly),
        (
            "{SCRAM-SHA-1}99999999:AAECAwQFBgcICQoLDA0ODw==$SjXiaB2hLRr8aMUyXMVEw7H1jSI=:FilAoFIclBukd3xZxBvYMXTU3HM=",
            Unverifiable::TooCostly,
        ),
    ] {
        assert_eq!(unverifiable(stored.as_bytes()), Some(why), "{stored}");
    }
    assert_eq!(unverifiable(b"password"), None);
}

#[test]
fn parameters_are_obeyed() {
    let mut parameters = cheap();
    parameters.set_iterations(Scheme::Pbkdf2HmacSha512, 12).unwrap();
    parameters.set_crypt(CryptAlgorithm::Sha256);
    parameters.set_argon2(Argon2Parameters::new(Argon2Variant::D, 128, 3, 2).unwrap());
    parameters.set_bcrypt_cost(5).unwrap();
    for (scheme, start) in [
        (Scheme::Pbkdf2, "{PBKDF2}10:"),
        (Scheme::Pbkdf2HmacSha512, "{PBKDF2-HMAC-SHA512}12:"),
        (Scheme::Crypt, "{CRYPT}$5$"),
        (Scheme::Argon2, "{ARGON2}$argon2d$v=19$m=128,t=3,p=2$"),
        (Scheme::Bcrypt, "{BCRYPT}$2b$05$"),
        (Scheme::ScramSha256, "{SCRAM-SHA-256}4096:"),
    ] {
        let stored = encode_random(scheme, &parameters, b"password").unwrap();
        assert!(stored.starts_with(start.as_bytes()), "{}", String::from_utf8_lossy(&stored));
        assert!(verify(&stored, b"password"));
        let decoy = decoy(scheme, &parameters).unwrap();
        assert!(decoy.starts_with(start.as_bytes()), "{}", String::from_utf8_lossy(&decoy));
    }
    parameters.set_crypt(CryptAlgorithm::Md5);
    let stored = encode_random(Scheme::Crypt, &parameters, b"password").unwrap();
    assert!(stored.starts_with(b"{CRYPT}$1$") && verify(&stored, b"password"));
}

#[test]
fn parameters_out_of_bounds_are_refused() {
    let mut parameters = Parameters::default();
    for (scheme, iterations) in [
        (Scheme::Pbkdf2, 0),
        (Scheme::Pbkdf2, 10_000_001),
        (Scheme::ScramSha256, 4095),
        (Scheme::Argon2, 3),
        (Scheme::Pkcs5s2, 20_000),
    ] {
        assert!(parameters.set_iterations(scheme, iterations).is_err(), "{scheme:?} {iterations}");
    }
    assert!(parameters.set_bcrypt_cost(3).is_err());
    assert!(parameters.set_bcrypt_cost(19).is_err());
    assert_eq!(parameters, Parameters::default());
    for (memory, iterations, lanes, error) in [
        (7, 1, 1, Argon2Error::TooLittle),
        (16, 1, 3, Argon2Error::TooLittle),
        (1024, 0, 1, Argon2Error::TooLittle),
        (1024, 1, 0, Argon2Error::TooLittle),
        (256 * 1024 + 1, 1, 1, Argon2Error::TooMuch),
        (1024, 65, 1, Argon2Error::TooMuch),
        (256 * 1024, 17, 1, Argon2Error::TooMuch),
        (1024, 1, 65, Argon2Error::TooMuch),
        (u32::MAX, u32::MAX, u32::MAX, Argon2Error::TooMuch),
    ] {
        let found = Argon2Parameters::new(Argon2Variant::Id, memory, iterations, lanes);
        assert_eq!(found, Err(error), "{memory} {iterations} {lanes}");
    }
}

/// A decoy is read like a real value and costs as much; nobody knows its password.
#[test]
fn decoys_are_whole_and_of_the_same_cost() {
    for scheme in Scheme::all() {
        let (first, second) = (decoy(scheme, &cheap()).unwrap(), decoy(scheme, &cheap()).unwrap());
        let text = String::from_utf8_lossy(&first).into_owned();
        assert_ne!(first, second);
        assert_eq!(unverifiable(&first), None, "{text}");
        assert_eq!((scheme_of(&first), is_slow(&first)), (Some(scheme), scheme.is_slow()), "{text}");
        assert!(!verify(&first, b"password"), "{text}");
        let real = encode_random(scheme, &cheap(), b"password").unwrap();
        if scheme != Scheme::Clear && scheme != Scheme::Base64 {
            assert_eq!(first.len(), real.len(), "{text} and {}", String::from_utf8_lossy(&real));
        }
    }
}

/// The time shows whether the libraries take a decoy for a value at all.
#[test]
fn decoys_of_crypt_are_not_refused_before_they_are_hashed() {
    use std::time::Instant;
    let mut parameters = cheap();
    parameters.set_bcrypt_cost(8).unwrap();
    for (scheme, algorithm) in [
        (Scheme::Bcrypt, CryptAlgorithm::Md5),
        (Scheme::Crypt, CryptAlgorithm::Sha256),
        (Scheme::Crypt, CryptAlgorithm::Sha512),
        (Scheme::Crypt, CryptAlgorithm::Md5),
    ] {
        parameters.set_crypt(algorithm);
        let took = |stored: &[u8]| {
            let measure = |_| {
                let begun = Instant::now();
                assert!(!verify(stored, b"another password"));
                begun.elapsed()
            };
            (0..5).map(measure).min().unwrap()
        };
        let real = took(&encode_random(scheme, &parameters, b"password").unwrap());
        let decoy = took(&decoy(scheme, &parameters).unwrap());
        assert!(decoy * 2 > real, "{scheme:?} {algorithm:?}: {decoy:?} against {real:?}");
    }
}

#[test]
fn argon2_is_tuned_to_a_time_and_never_below_the_least() {
    use std::time::Duration;
    // A machine that needs so many nanoseconds for a KiB, and more for memory beyond its cache.
    let machine = |nanoseconds: f64| {
        move |parameters: Argon2Parameters| {
            let (memory, passes) = (f64::from(parameters.memory_kib()), f64::from(parameters.iterations()));
            let per_kib = nanoseconds * if memory > 32.0 * 1024.0 { 1.3 } else { 1.0 };
            Duration::from_nanos((memory * passes * per_kib) as u64)
        }
    };
    let target = Duration::from_millis(40);
    for slow in [1100.0, 5000.0] {
        assert_eq!(Argon2Parameters::tuned(target, machine(slow)), Argon2Parameters::OWASP, "{slow}");
    }
    for fast in [900.0, 500.0, 300.0, 100.0] {
        let tuned = Argon2Parameters::tuned(target, machine(fast));
        let took = machine(fast)(tuned);
        assert!(took <= target && took * 10 >= target * 7, "{fast}: {tuned:?} takes {took:?}");
        assert!(tuned.memory_kib() >= 19 << 10 && tuned.memory_kib() <= 64 << 10, "{tuned:?}");
        assert!(tuned.memory_kib().is_multiple_of(1024) && tuned.iterations() >= 2, "{tuned:?}");
    }
    let tuned = Argon2Parameters::tuned(Duration::from_secs(3600), machine(1.0));
    assert_eq!((tuned.memory_kib(), tuned.iterations()), (64 << 10, 20));
    assert_eq!(Argon2Parameters::tuned(target, |_| Duration::ZERO), Argon2Parameters::OWASP);
    assert!(Argon2Parameters::new(Argon2Variant::Id, 64, 1, 1).unwrap().measure() > Duration::ZERO);
}

/// The memory of a thread is used again by the next hash, whatever that one needs.
#[test]
fn hashes_of_different_sizes_follow_one_another() {
    let large = Argon2Parameters::new(Argon2Variant::Id, 4096, 1, 1).unwrap();
    let small = Argon2Parameters::new(Argon2Variant::I, 64, 2, 4).unwrap();
    let make = |argon2| {
        let mut parameters = cheap();
        parameters.set_argon2(argon2);
        encode(Scheme::Argon2, &parameters, b"password", &[7; 16]).unwrap()
    };
    let fresh = |argon2| std::thread::spawn(move || make(argon2)).join().unwrap();
    let (fresh_large, fresh_small) = (fresh(large), fresh(small));
    for _ in 0..3 {
        assert_eq!(make(large), fresh_large);
        assert_eq!(make(small), fresh_small);
    }
}
