//! A key file and a signed export written by version 0.1.0 (`vertebra sessions export last --sign`). Every later version
//! must load the key and verify the export.

use vertebra_journal::{ExportError, SigningKey, key_text, read_key, verify_export};

const KEY_FILE: &[u8; 32] = include_bytes!("../data/signed/journal-signing.key");
const EXPORT: &[u8] = include_bytes!("../data/signed/session.jsonl");
/// The public key that the command printed.
const PUBLIC_KEY: &str = "b52fbc8494a5b4b48c59e447cd70a85f71162e7f8f76213dc9afddebf73ff836";

#[test]
fn a_key_file_of_an_earlier_version_still_has_the_same_public_key() {
    let key = SigningKey::from_bytes(KEY_FILE);

    assert_eq!(key_text(&key.verifying_key()), PUBLIC_KEY);
}

#[test]
fn a_signed_export_of_an_earlier_version_still_verifies() {
    let key = read_key(PUBLIC_KEY).expect("a public key");

    let signed = verify_export(EXPORT, &key).expect("the export is as it was signed");

    assert_eq!((signed.session_id.as_str(), signed.lines), ("session-01a1ec14067977e5b6e78ccafe46660f", 30));
    assert_eq!(signed.head.to_string(), "995b3c8e9518bd20628659bc2b8039c52861ca9d577901908df20a762d7d40db");
}

#[test]
fn a_signed_export_with_one_changed_byte_never_verifies() {
    let key = read_key(PUBLIC_KEY).expect("a public key");
    let seal = EXPORT[..EXPORT.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("several lines") + 1;
    // Some bytes of every line, and every byte of the last line, which holds the signature.
    let braces = EXPORT[..seal].iter().enumerate().filter(|(_, byte)| **byte == b'{').map(|(at, _)| at);
    for at in braces.chain(seal..EXPORT.len()) {
        let mut changed = EXPORT.to_vec();
        changed[at] ^= 1;
        let error = verify_export(&*changed, &key).expect_err(&format!("byte {at} is changed"));
        let expected = matches!(error, ExportError::Changed(_) | ExportError::NotSigned | ExportError::OtherKey(_));
        assert!(expected, "byte {at}: {error}");
    }
}
