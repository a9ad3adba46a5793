//! Ed25519 keys that sign exports and verify them.

use std::fmt;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use zeroize::Zeroizing;

use crate::chain::{hex, unhex};

/// A private key that signs exports.
///
/// The key is zeroed in memory when this value is dropped.
pub struct SigningKey {
    seed: Zeroizing<[u8; 32]>,
    verifying_key: VerifyingKey,
}

impl SigningKey {
    /// Makes the key from its seed, which is the content of a key file.
    pub fn from_bytes(seed: &[u8; 32]) -> Self {
        let seed = Zeroizing::new(*seed);
        let mut verifying_key = VerifyingKey([0; 32]);
        verifying_key.0.copy_from_slice(key_pair(&seed).public_key().as_ref());
        Self { seed, verifying_key }
    }

    /// Returns the public key, which verifies what this key signs.
    pub fn verifying_key(&self) -> VerifyingKey {
        self.verifying_key
    }

    /// Signs a message. The same key and message always give the same signature.
    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        // The pair is made for each signature because `ring` does not zero it: only the seed stays in memory.
        signature.copy_from_slice(key_pair(&self.seed).sign(message).as_ref());
        signature
    }
}

fn key_pair(seed: &[u8; 32]) -> Ed25519KeyPair {
    // Any 32 bytes are a seed. Key files contain only the seed, so the public key cannot be checked against it.
    Ed25519KeyPair::from_seed_unchecked(seed).expect("a seed has 32 bytes")
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("verifying_key", &self.verifying_key).finish_non_exhaustive()
    }
}

/// A public key that verifies exports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VerifyingKey([u8; 32]);

impl VerifyingKey {
    /// Tells whether this key signed the message.
    ///
    /// `ring` accepts only canonical signatures (RFC 8032, section 5.1.7, without the cofactor). In addition, keys and
    /// signatures with a point of small order are rejected: such a key has signatures that fit any message.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let mut point = [0; 32];
        point.copy_from_slice(&signature[..32]);
        !is_of_small_order(self.0)
            && !is_of_small_order(point)
            && UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifyingKey").field(&hex(&self.0)).finish()
    }
}

/// Formats a public key as hexadecimal digits, which is how people exchange it.
pub fn key_text(key: &VerifyingKey) -> String {
    hex(&key.0)
}

/// Reads a public key from hexadecimal digits.
///
/// Digits that are not a point on the curve are accepted here. No signature verifies with such a key.
pub fn read_key(text: &str) -> Result<VerifyingKey, NotAKey> {
    unhex(text.trim()).map(VerifyingKey).map_err(|_| NotAKey)
}

/// The error for a text that is not a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a public key is 64 hexadecimal digits, as `vertebra sessions export --sign` shows it")]
pub struct NotAKey;

/// The `y` coordinates of the eight points of small order, in every encoding: the last two are 0 and 1 plus the prime.
const SMALL_ORDER: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

fn is_of_small_order(point: [u8; 32]) -> bool {
    let mut y = point;
    // The highest bit is the sign of `x`.
    y[31] &= 0x7f;
    SMALL_ORDER.contains(&hex(&y).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 2.
    const SEED: &str = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
    const PUBLIC_KEY: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    const SIGNATURE: &str = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
                             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";

    #[test]
    fn signatures_follow_rfc_8032() {
        let key = SigningKey::from_bytes(&unhex(SEED).expect("a seed"));

        assert_eq!(key_text(&key.verifying_key()), PUBLIC_KEY);
        assert_eq!(hex(&key.sign(&[0x72])), SIGNATURE);
        assert!(key.verifying_key().verifies(&[0x72], &key.sign(&[0x72])));
        assert!(!key.verifying_key().verifies(&[0x73], &key.sign(&[0x72])));
    }

    #[test]
    fn a_second_encoding_of_a_signature_does_not_verify() {
        // The order of the group, added to the second half.
        let order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
        let order: [u8; 32] = unhex(order).expect("the order");
        let mut signature: [u8; 64] = unhex(SIGNATURE).expect("a signature");
        let mut carry = 0;
        for (byte, addend) in signature[32..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(addend) + carry;
            *byte = sum.to_le_bytes()[0];
            carry = sum >> 8;
        }

        assert!(!read_key(PUBLIC_KEY).expect("a key").verifies(&[0x72], &signature));
    }

    #[test]
    fn a_key_of_small_order_verifies_nothing() {
        // With the neutral point as key and as first half, and 0 as second half, the equation holds for any message.
        let neutral = read_key(SMALL_ORDER[1]).expect("digits");
        let mut signature = [0; 64];
        signature[0] = 1;
        UnparsedPublicKey::new(&ED25519, neutral.0).verify(b"any", &signature).expect("ring accepts it");

        for y in SMALL_ORDER {
            for sign in [0, 0x80] {
                let mut point: [u8; 32] = unhex(y).expect("digits");
                point[31] |= sign;
                assert!(!VerifyingKey(point).verifies(b"any", &signature), "{y} {sign}");
                assert!(is_of_small_order(point), "{y} {sign}");
            }
        }
    }

    #[test]
    fn the_private_key_is_not_in_debug_output() {
        let key = SigningKey::from_bytes(&unhex(SEED).expect("a seed"));

        assert_eq!(format!("{key:?}"), format!("SigningKey {{ verifying_key: VerifyingKey(\"{PUBLIC_KEY}\"), .. }}"));
    }
}
