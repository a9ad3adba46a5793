//! Reads events from the log of `vertebra hook`.

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use serde_json::Value;
use vertebra_bridge::wire::Happened;
use vertebra_journal::{
    backtest::{Opinion, Said},
    past::{Line, Lines},
};

use super::{LONGEST_LINE, event::Theirs, named, sources::Reading};

const CUT: &str = "events in the hook log that were truncated or redacted: hooks see the replacement text";
const SHORT: &str = "events that were too long for the hook log, which has only the decision";
const BROKEN: &str = "unreadable lines in the hook log";

/// Reads a log.
pub(super) struct Reader {
    path: PathBuf,
    lines: Lines<BufReader<File>>,
    reading: Arc<Reading>,
}

impl Reader {
    pub(super) fn open(path: &Path, reading: Arc<Reading>) -> anyhow::Result<Self> {
        let file = named(File::open(path), path)?;
        Ok(Self { path: path.to_owned(), lines: Lines::new(BufReader::new(file), LONGEST_LINE), reading })
    }

    /// Returns the number of bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn event(&self, bytes: &[u8]) -> Result<(Theirs, Option<Timestamp>), &'static str> {
        let text = std::str::from_utf8(bytes).map_err(|_| BROKEN)?;
        let line: Value = serde_json::from_str(text).map_err(|_| BROKEN)?;
        let event = line.get("event").ok_or(if line.get("moment").is_some() { SHORT } else { BROKEN })?;
        let happened = Happened::read(event).map_err(|_| BROKEN)?;
        if text.contains("[hidden ") || text.contains(" bytes more)") {
            self.reading.unknown(CUT, 1);
        }
        let said = match line["decision"].as_str() {
            Some("deny" | "block") => Said::Refused,
            Some("ask") => Said::Asked,
            Some("allow") => Said::Allowed,
            _ if line["continue"] == false => Said::Refused,
            _ => Said::Nothing,
        };
        let word = |key: &str| line[key].as_str().map(str::to_owned);
        let then = Opinion { by: word("decided_by"), reason: word("reason"), ..Opinion::of(said) };
        let time = line["timestamp"].as_str().and_then(|time| time.parse().ok());
        Ok((Theirs { source: "hook log", happened, then }, time))
    }
}

impl Iterator for Reader {
    type Item = (Theirs, Option<Timestamp>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.lines.next()? {
                Ok(Line::Bytes(bytes)) if bytes.is_empty() => {}
                Ok(Line::Bytes(bytes)) => match self.event(&bytes) {
                    Ok(event) => return Some(event),
                    Err(why) => self.reading.unknown(why, 1),
                },
                Ok(Line::TooLong(_)) => self.reading.unknown(BROKEN, 1),
                Err(error) => {
                    self.reading.problem(format!("{}: {error}", self.path.display()));
                    return None;
                }
            }
        }
    }
}
