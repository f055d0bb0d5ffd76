//! Every form a key is handed around in, and every other thing that is taken for one.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use secrecy::ExposeSecret as _;

use super::{KeyRefusal, normalise};

/// SEQUENCE { INTEGER 0, INTEGER 5 }: the outer form of PKCS#1, and no key.
const PKCS1: &str =
    "-----BEGIN RSA PRIVATE KEY-----\nMAYCAQACAQU=\n-----END RSA PRIVATE KEY-----\n";

/// The outer form of PKCS#8 with an algorithm of the given object identifier.
fn pkcs8(oid: &[u8]) -> String {
    let oid_len = u8::try_from(oid.len()).unwrap();
    let mut der = vec![0x30, oid_len + 9, 0x02, 0x01, 0x00, 0x30, oid_len + 2, 0x06, oid_len];
    der.extend_from_slice(oid);
    der.extend_from_slice(&[0x04, 0x00]);
    pem("PRIVATE KEY", &der)
}

fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64_STANDARD.encode(der))
}

fn loaded(text: &str) -> Result<String, KeyRefusal> {
    normalise(text).map(|pem| pem.expose_secret().to_owned())
}

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

// A8
#[test]
fn every_form_of_a_key_becomes_the_same_pem() {
    let wrapped = BASE64_STANDARD.encode(PKCS1);
    let folded = wrapped.as_bytes().chunks(20).map(|line| std::str::from_utf8(line).unwrap());
    for (form, text) in [
        ("as it is", PKCS1.to_owned()),
        ("without final newline", PKCS1.trim_end().to_owned()),
        ("with CRLF", PKCS1.replace('\n', "\r\n")),
        ("with escaped line breaks", PKCS1.replace('\n', "\\n")),
        ("with escaped CRLF", PKCS1.replace('\n', "\\r\\n")),
        ("in double quotes", format!("\"{PKCS1}\"")),
        ("escaped and in single quotes", format!("'{}'\n", PKCS1.replace('\n', "\\n"))),
        ("with spaces for line breaks", PKCS1.replace('\n', " ")),
        ("in base64", wrapped.clone()),
        ("in base64 of CRLF", BASE64_STANDARD.encode(PKCS1.replace('\n', "\r\n"))),
        ("in base64 of the escaped form", BASE64_STANDARD.encode(PKCS1.replace('\n', "\\n"))),
        ("in base64 with line breaks", folded.collect::<Vec<_>>().join("\n")),
        ("in unpadded base64", wrapped.trim_end_matches('=').to_owned()),
        ("with a byte order mark", format!("\u{feff}{PKCS1}")),
        ("with text around it", format!("Key of App 4242\n{PKCS1}\nend")),
        ("behind a certificate", format!("{}{PKCS1}", pem("CERTIFICATE", &[0x30, 0x00]))),
    ] {
        assert_eq!(loaded(&text).as_deref(), Ok(PKCS1), "{form}");
    }
}

#[test]
fn pkcs8_loads_and_long_keys_get_lines_of_64() {
    assert_eq!(loaded(&pkcs8(RSA)), Ok(pkcs8(RSA)));
    let long =
        [[0x30, 0x81, 0x86, 0x02, 0x01, 0x00, 0x02, 0x81, 0x80].as_slice(), &[7; 128]].concat();
    let text = loaded(&pem("RSA PRIVATE KEY", &long)).unwrap();
    assert!(text.lines().all(|line| line.len() <= 64), "{text}");
    assert_eq!(text.lines().count(), 2 + 3, "137 bytes are 184 characters: three lines");
}

#[test]
fn everything_else_is_refused_by_its_name() {
    let openssh = pem("OPENSSH PRIVATE KEY", b"openssh-key-v1\0");
    let legacy = PKCS1.replace("MAYC", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nMAYC");
    for (text, refusal) in [
        (" \n", KeyRefusal::Empty),
        ("hunter2", KeyRefusal::NotPem),
        ("not base64!", KeyRefusal::NotPem),
        ("-----BEGIN ", KeyRefusal::NotPem),
        (PKCS1.trim_end().trim_end_matches("-----END RSA PRIVATE KEY-----"), KeyRefusal::CutOff),
        (&PKCS1.replace("MAYC", "M*YC"), KeyRefusal::Damaged),
        (&PKCS1.replace("MAYCAQACAQU=", ""), KeyRefusal::Damaged),
        // A whole line of the base64 is missing.
        (&pem("RSA PRIVATE KEY", &[0x30, 0x20, 0x02, 0x01, 0x00]), KeyRefusal::Damaged),
        (&pem("RSA PRIVATE KEY", &[0x04, 0x00]), KeyRefusal::Damaged),
        (&pem("ENCRYPTED PRIVATE KEY", &[0x30, 0x00]), KeyRefusal::Encrypted),
        (&legacy, KeyRefusal::Encrypted),
        (&pem("EC PRIVATE KEY", &[0x30, 0x00]), KeyRefusal::EllipticCurve),
        (&pkcs8(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]), KeyRefusal::EllipticCurve),
        (&pkcs8(&[0x2b, 0x65, 0x70]), KeyRefusal::OtherAlgorithm), // Ed25519
        (&pem("PUBLIC KEY", &[0x30, 0x00]), KeyRefusal::Public),
        (&pem("RSA PUBLIC KEY", &[0x30, 0x00]), KeyRefusal::Public),
        (&openssh, KeyRefusal::OpenSsh),
        (&pem("CERTIFICATE", &[0x30, 0x00]), KeyRefusal::Certificate),
        (&BASE64_STANDARD.encode([0x30, 0x02, 0xff, 0xfe]), KeyRefusal::Der),
    ] {
        assert_eq!(loaded(text), Err(refusal), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(-----BEGIN (RSA )?PRIVATE KEY-----)?[ -~\\n]{0,60}(-----END (RSA )?PRIVATE KEY-----)?") {
        let _ = normalise(&text);
    }

    #[test]
    fn no_der_makes_it_panic(der in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
        let _ = normalise(&pem("PRIVATE KEY", &der));
        let _ = normalise(&pem("RSA PRIVATE KEY", &[&[0x30, 0x84][..], &der].concat()));
    }
}
