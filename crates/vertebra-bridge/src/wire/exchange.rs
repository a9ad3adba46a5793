//! What went on with something outside, exactly.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// One exchange with something outside: what came back, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// What was asked, as people know it: a command line, an address.
    pub handler: String,
    /// How it ended.
    #[serde(flatten)]
    pub end: End,
    /// What it wrote as its answer, with a mark where it was not UTF-8.
    pub stdout: String,
    /// What it wrote besides.
    pub stderr: String,
    /// How long it took.
    #[serde(rename = "took_ms", with = "millis")]
    pub took: Duration,
}

/// How much of each output the record keeps. Answers are read whole.
const RECORDED_BYTES: usize = 16 * 1024;

impl Exchange {
    /// The same in a size that journals can keep.
    #[must_use]
    pub fn for_record(mut self) -> Self {
        for text in [&mut self.stdout, &mut self.stderr] {
            if text.len() > RECORDED_BYTES {
                let kept = text.floor_char_boundary(RECORDED_BYTES);
                *text = format!("{}… ({} bytes in all)", &text[..kept], text.len());
            }
        }
        self
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// A process exited.
    Exited {
        /// With this code.
        exit_code: i32,
    },
    /// A process was ended by a signal that was not ours.
    Signalled {
        /// Which.
        signal: i32,
    },
    /// Something that is no process answered: a worker, a server, a model.
    Answered,
    /// There was no answer in time. What was begun has been ended.
    TimedOut {
        /// Its limit.
        #[serde(rename = "after_ms", with = "millis")]
        after: Duration,
    },
    /// It could not be begun, or broke off.
    Failed {
        /// Why.
        message: String,
    },
    /// It wrote more than anybody reads.
    TooLarge {
        /// How many bytes are read.
        limit: usize,
    },
    /// What it wrote is not UTF-8.
    NotText {
        /// The exit code, if it was a process that exited.
        exit_code: Option<i32>,
    },
}

impl End {
    /// The exit code, if it was a process that exited.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Exited { exit_code } => Some(*exit_code),
            Self::NotText { exit_code } => *exit_code,
            Self::Signalled { .. }
            | Self::Answered
            | Self::TimedOut { .. }
            | Self::Failed { .. }
            | Self::TooLarge { .. } => None,
        }
    }
}

/// In words: `it exited with code 1`.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { exit_code } => write!(f, "it exited with code {exit_code}"),
            Self::Signalled { signal } => write!(f, "it was ended by signal {signal}"),
            Self::Answered => f.write_str("it answered"),
            Self::TimedOut { after } => write!(f, "it gave no answer within {} ms", after.as_millis()),
            Self::Failed { message } => f.write_str(message),
            Self::TooLarge { limit } => write!(f, "it wrote more than {limit} bytes"),
            Self::NotText { .. } => f.write_str("what it wrote is not UTF-8"),
        }
    }
}

/// Times are whole milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
