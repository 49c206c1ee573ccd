//! Vectors from other implementations: glibc's crypt, slappasswd, Python's hashlib, and the two strings of the seeds.

#![allow(clippy::unwrap_used)]

use super::*;

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
    "{ARGON2}$argon2i$v=19$m=4096,t=3,p=1$ApZhvnoKbHtZmcyGPewN5g$NNwKmerpNKqRfULzLP3GdquFJ+crpT27G+ZPO9pPyjE",
];

#[test]
fn other_servers_values_verify() {
    for stored in OF_PASSWORD {
        assert!(verify(stored.as_bytes(), b"password"), "{stored}");
        assert!(!verify(stored.as_bytes(), b"passwore"), "{stored}");
        assert!(!verify(stored.as_bytes(), b""), "{stored}");
        assert_eq!(is_encoded(stored.as_bytes()), stored.starts_with('{'), "{stored}");
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
        assert_eq!(scheme.row().0, scheme);
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
        let stored = encode(scheme, "pässword".as_bytes(), &salt).unwrap();
        let text = String::from_utf8_lossy(&stored).into_owned();
        assert!(text.starts_with(&format!("{{{}}}", scheme.prefix())), "{text}");
        assert!(verify(&stored, "pässword".as_bytes()), "{text}");
        assert!(!verify(&stored, b"password"), "{text}");
        assert_eq!(is_slow(&stored), scheme.is_slow(), "{text}");
        assert_eq!(encode(scheme, b"", &salt), None);
    }
}

// S0-49: 8 bytes of salt behind 20 bytes of digest.
#[test]
fn ssha_has_eight_bytes_of_salt() {
    let stored = encode(Scheme::SaltedSha1, b"password", &[0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, 1, 2]).unwrap();
    assert_eq!(stored, b"{SSHA}IcMKUc/EFF5Qa+LU/0JaXSGAaun6+/z9/v8BAg==");
}

#[test]
fn argon2_is_written_as_openldap_reads_it() {
    let stored = String::from_utf8(encode(Scheme::Argon2, b"password", b"0123456789abcdef").unwrap()).unwrap();
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
    ] {
        assert!(!verify(stored.as_bytes(), b"password"), "{stored}");
        assert!(is_encoded(stored.as_bytes()), "{stored}");
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
    let stored = encode(Scheme::ScramSha256, b"password", &[7; 16]).unwrap();
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
        let stored = encode(Scheme::ScramSha1, clear, &[7; 16]).unwrap();
        assert!(verify(&stored, clear), "{clear:?}");
    }
}
