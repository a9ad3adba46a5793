//! How what something outside wrote becomes an answer.

use serde_json::Value;
use vertebra::{Kind, PointInfo};

use super::{Answered, Ask, HandlerError};
use crate::{
    claude::contract as claude,
    settings::Contract,
    wire::{End, Exchange, Reply},
};

/// The exit code that refuses.
const REFUSES: i32 = 2;

/// How much of what a program said about its failure is told with it.
const TOLD_BYTES: usize = 2048;

impl Contract {
    /// Whether it has words for what happens at a point.
    pub(super) fn fits(&self, point: &'static str) -> Result<(), HandlerError> {
        match self {
            Self::ClaudeCode { .. } if !claude::has_event(point) => Err(HandlerError::NoSuchEvent { point }),
            Self::Vertebra | Self::ClaudeCode { .. } => Ok(()),
        }
    }

    /// Puts an event to whoever speaks this, and reads what comes back.
    pub(super) async fn put<F: Future<Output = Exchange>>(
        &self,
        ask: &Ask<'_>,
        shown: String,
        over: impl FnOnce(Vec<u8>) -> F,
    ) -> Answered {
        let event = match self.write(ask) {
            Ok(event) => event,
            Err(message) => return Answered::not_asked(shown, message),
        };
        let exchange = over(event).await;
        let reply = self.read(ask, &exchange);
        Answered { exchange, reply }
    }

    /// What goes over.
    fn write(&self, ask: &Ask<'_>) -> Result<Vec<u8>, String> {
        let event = match self {
            Self::Vertebra => ask.event.to_string(),
            Self::ClaudeCode { .. } => Value::Object(claude::input(ask.point.name, ask.event)?).to_string(),
        };
        Ok(event.into_bytes())
    }

    /// What comes of what came back: an answer, or a failure in words.
    pub(super) fn read(&self, ask: &Ask<'_>, exchange: &Exchange) -> Result<Reply, String> {
        match self {
            Self::Vertebra => read(ask.point, exchange),
            Self::ClaudeCode { .. } => claude::reply(ask.point, ask.event, exchange),
        }
    }
}

/// Exit code 0, or no exit code where there is no process: the answer is what was written. Exit code 2 refuses, with the
/// error output as the reason. All else is a failure.
fn read(point: &PointInfo, exchange: &Exchange) -> Result<Reply, String> {
    match &exchange.end {
        End::Exited { exit_code: 0 } | End::Answered => {
            Reply::read(&exchange.stdout).map_err(|error| error.to_string())
        }
        end if end.exit_code() == Some(REFUSES) => {
            let reason = match exchange.stderr.trim() {
                "" => "no reason was given",
                said => said,
            };
            refusal(point, reason).ok_or_else(|| {
                format!("it exited with code {REFUSES}, which refuses, and nothing can be refused at {}", point.name)
            })
        }
        end => match told(&exchange.stderr) {
            "" => Err(end.to_string()),
            said => Err(format!("{end}: {said}")),
        },
    }
}

/// The answer with which this point refuses what is about to happen, if it can: a call is denied, a stream halted, and
/// where a run is about to end, it goes on with the reason as its instruction.
pub fn refusal(point: &PointInfo, reason: &str) -> Option<Reply> {
    let kinds = [(Kind::Deny, "reason"), (Kind::Halt, "reason"), (Kind::GoOn, "instruction")];
    let (kind, text) = kinds.into_iter().find(|(kind, _)| point.powers.contains(kind))?;
    Some(Reply::verdict(kind.word(), text, reason))
}

/// The beginning of what was said, up to a whole character.
fn told(said: &str) -> &str {
    let said = said.trim();
    &said[..said.floor_char_boundary(TOLD_BYTES)]
}
