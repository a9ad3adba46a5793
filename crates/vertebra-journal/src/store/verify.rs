//! Whether a session is what was written, as far as its chain shows.

use vertebra::{JournalError, JournalFault};

use super::Store;
use crate::chain::{Hash, Verified};

impl Store {
    /// Looks whether the lines of a session are what was written: all of them, unchanged, in their order.
    pub fn verify(&self, session_id: &str) -> Result<Verified, JournalError> {
        let bodies = self.bodies(session_id)?;
        let lines = bodies.last;
        let broken = |line: u64, why: &str, found| Verified::Broken { line, why: why.to_owned(), found };
        let Some(head) = bodies.head else {
            let chained = bodies.first("hash IS NOT NULL")?.and_then(|line| u64::try_from(line).ok());
            return Ok(
                chained.map_or(Verified::NoChain { lines }, |line| broken(line, "its chain has lost its end", None))
            );
        };
        let added = bodies.first(&format!("number > {lines} OR number < 1"))?.is_some();
        let mut link = Hash::START;
        for body in bodies {
            match body {
                Ok(body) => {
                    link = link.then(&body.text);
                    if body.hash != Some(link) {
                        return Ok(broken(body.number, "it is not the line that was written here", Some(body.text)));
                    }
                }
                Err((number, error)) if error.kind == JournalFault::Corrupt => {
                    return Ok(broken(number, &error.message, None));
                }
                Err((_, error)) => return Err(error),
            }
        }
        Ok(match () {
            () if link != head => broken(lines, "it is not the last line that was written", None),
            () if added => broken(lines + 1, "it was added afterwards", None),
            () => Verified::Intact { lines, head },
        })
    }
}
