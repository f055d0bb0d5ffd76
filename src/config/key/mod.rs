//! Private keys in every form they are handed around in, made into one: plain PEM.
//!
//! The check is structural: label, base64, outer DER. Whether the key can sign is found out when
//! the GitHub client is built.

use base64::{
    Engine,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use secrecy::SecretString;
use thiserror::Error;

/// Why a text is no usable private key. Never repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum KeyRefusal {
    #[error("is empty")]
    Empty,
    #[error("is not a PEM private key")]
    NotPem,
    #[error("is cut off: the PEM has no END line")]
    CutOff,
    #[error("is damaged: what stands between BEGIN and END is not base64 of a key")]
    Damaged,
    #[error("is encrypted with a passphrase")]
    Encrypted,
    #[error("is an elliptic curve key, not an RSA key")]
    EllipticCurve,
    #[error("is not an RSA key")]
    OtherAlgorithm,
    #[error("is a public key")]
    Public,
    #[error("is an OpenSSH key")]
    OpenSsh,
    #[error("is a certificate")]
    Certificate,
    #[error("is binary DER, not PEM")]
    Der,
}

/// Anything base64, padded or not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl KeyRefusal {
    /// What to do about it.
    pub(super) fn hint(self) -> &'static str {
        match self {
            Self::Empty
            | Self::NotPem
            | Self::CutOff
            | Self::Damaged
            | Self::Public
            | Self::Certificate => {
                "use the .pem file that the App's page gives for a new private key"
            }
            Self::Encrypted => "remove the passphrase: openssl rsa -in KEY.pem -out PLAIN.pem",
            Self::EllipticCurve | Self::OtherAlgorithm => "GitHub Apps sign with RSA only",
            Self::OpenSsh => "GitHub Apps use PEM keys; take the one from the App's page",
            Self::Der => "convert it: openssl rsa -inform DER -in KEY.der -out KEY.pem",
        }
    }
}

/// Makes one canonical PEM out of a key that is PKCS#1 or PKCS#8, with real or `\n`-escaped line
/// breaks of any kind or none, in quotes or not, as it is or wrapped in base64 once more.
pub(super) fn normalise(text: &str) -> Result<SecretString, KeyRefusal> {
    let text = unescape(text);
    if text.is_empty() {
        return Err(KeyRefusal::Empty);
    }
    if text.contains("-----BEGIN") {
        return from_pem(&text);
    }
    let bytes = decode(&text).ok_or(KeyRefusal::NotPem)?;
    match String::from_utf8(bytes) {
        Ok(inner) if inner.contains("-----BEGIN") => from_pem(&unescape(&inner)),
        Err(error) if sequence(error.as_bytes()).is_some() => Err(KeyRefusal::Der),
        Ok(_) | Err(_) => Err(KeyRefusal::NotPem),
    }
}

fn unescape(text: &str) -> String {
    text.trim_start_matches('\u{feff}')
        .trim()
        .trim_matches(['"', '\''])
        .replace("\\r", "\r")
        .replace("\\n", "\n")
        .trim()
        .to_owned()
}

fn from_pem(text: &str) -> Result<SecretString, KeyRefusal> {
    let (label, body) = private_block(text)?;
    match label {
        "RSA PRIVATE KEY" | "PRIVATE KEY" => {}
        "ENCRYPTED PRIVATE KEY" => return Err(KeyRefusal::Encrypted),
        "EC PRIVATE KEY" | "EC PARAMETERS" => return Err(KeyRefusal::EllipticCurve),
        "OPENSSH PRIVATE KEY" => return Err(KeyRefusal::OpenSsh),
        "PUBLIC KEY" | "RSA PUBLIC KEY" => return Err(KeyRefusal::Public),
        "CERTIFICATE" => return Err(KeyRefusal::Certificate),
        _ => return Err(KeyRefusal::OtherAlgorithm),
    }
    if body.contains("ENCRYPTED") {
        return Err(KeyRefusal::Encrypted);
    }
    let der = decode(body).ok_or(KeyRefusal::Damaged)?;
    let inner = sequence(&der).ok_or(KeyRefusal::Damaged)?;
    let after_version = integer(inner).ok_or(KeyRefusal::Damaged)?;
    match label {
        "RSA PRIVATE KEY" => integer(after_version).map(drop).ok_or(KeyRefusal::Damaged)?,
        _ => rsa_algorithm(after_version)?,
    }
    let base64 = BASE64.encode(&der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for (position, character) in base64.chars().enumerate() {
        if position > 0 && position % 64 == 0 {
            pem.push('\n');
        }
        pem.push(character);
    }
    pem.push_str("\n-----END ");
    pem.push_str(label);
    pem.push_str("-----\n");
    Ok(pem.into())
}

/// Label and body of the first block that is a private key, else of the first block.
fn private_block(text: &str) -> Result<(&str, &str), KeyRefusal> {
    let mut first = None;
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let (label, after) = after.split_once("-----").ok_or(KeyRefusal::NotPem)?;
        let end = format!("-----END {label}-----");
        let (body, after) = after.split_once(end.as_str()).ok_or(KeyRefusal::CutOff)?;
        if label.ends_with("PRIVATE KEY") {
            return Ok((label, body));
        }
        first = first.or(Some((label, body)));
        rest = after;
    }
    first.ok_or(KeyRefusal::NotPem)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let compact: String = text.split_whitespace().collect();
    BASE64.decode(compact).ok().filter(|bytes| !bytes.is_empty())
}

/// The first DER element, if its tag is `tag`: content and what follows.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = der.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    if length < 0x80 {
        return rest.split_at_checked(usize::from(length));
    }
    let (length, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
    if length.len() > 4 {
        return None;
    }
    let length = length.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    rest.split_at_checked(length)
}

/// The content of a SEQUENCE that is all there is.
fn sequence(der: &[u8]) -> Option<&[u8]> {
    element(der, 0x30).and_then(|(content, rest)| rest.is_empty().then_some(content))
}

/// What follows an INTEGER.
fn integer(der: &[u8]) -> Option<&[u8]> {
    element(der, 0x02).map(|(_, rest)| rest)
}

/// Whether a PKCS#8 algorithm identifier names RSA.
fn rsa_algorithm(der: &[u8]) -> Result<(), KeyRefusal> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
    let (algorithm, _) = element(der, 0x30).ok_or(KeyRefusal::Damaged)?;
    match element(algorithm, 0x06).ok_or(KeyRefusal::Damaged)?.0 {
        RSA => Ok(()),
        EC => Err(KeyRefusal::EllipticCurve),
        _ => Err(KeyRefusal::OtherAlgorithm),
    }
}

#[cfg(test)]
mod tests;
