//! Answers for runs that wait: put here by whoever decides, in whatever process, and found by the run when it goes on.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::OptionalExtension;
use serde::Serialize;
use vertebra::{Approval, Approver, Decision, Entry, JournalError, JournalFault, What};

use super::{Store, fault::Trouble};

/// A question that nobody has answered yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question {
    /// The session that asks.
    pub session_id: Arc<str>,
    /// What it asks.
    pub approval: Approval,
    /// When no answer is a no.
    pub until: Timestamp,
}

/// Whoever decides, through the journal: an answer that was put into it for exactly this question, or later.
///
/// After the time a question gives, no answer is a no.
#[derive(Debug, Clone)]
pub struct Inbox {
    store: Store,
}

impl Store {
    /// The inbox, as the approver of an agent that is suspended when it asks.
    pub fn inbox(&self) -> Inbox {
        Inbox { store: self.clone() }
    }

    /// The questions nobody has answered, of one session or of all, oldest first. Those whose time is over are among them
    /// until their run goes on.
    pub fn questions(&self, session_id: Option<&str>) -> Result<Vec<Question>, JournalError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT body FROM questions
                 JOIN sessions ON sessions.id = questions.session
                 JOIN lines ON lines.session = questions.session AND lines.number = questions.line
                 WHERE answer IS NULL AND (?1 IS NULL OR session_id = ?1)
                 ORDER BY lines.id",
            )?;
            let rows = statement.query_and_then([session_id], |row| -> Result<_, Trouble> {
                let body: String = row.get(0)?;
                let question = serde_json::from_str(&body).ok().and_then(|entry: Entry| match entry.what {
                    What::Asked { approval, until } => {
                        Some(Question { session_id: entry.session_id, approval: *approval, until })
                    }
                    _ => None,
                });
                question.ok_or_else(|| {
                    let message = super::damaged(&self.path().display().to_string(), "a question cannot be read");
                    JournalError::new(JournalFault::Corrupt, message).into()
                })
            })?;
            rows.collect()
        })
    }

    /// Answers a question, for the run that finds it when it goes on. It holds for the arguments with this fingerprint
    /// (see [`Approval::digest`]) and for nothing else.
    pub fn answer(
        &self,
        session_id: &str,
        call_id: &str,
        digest: &str,
        decision: &Decision,
    ) -> Result<(), JournalError> {
        let refuse =
            |why: &str| Err(JournalError::new(JournalFault::Failed, format!("`{call_id}` of `{session_id}`: {why}")));
        match decision {
            Decision::Later => return refuse("`later` is not an answer"),
            Decision::Approve { digest: meant, .. } if meant != digest => {
                return refuse("the yes is to other arguments than those that were shown");
            }
            Decision::Approve { .. } | Decision::Deny { .. } | Decision::Edit { .. } => {}
        }
        let answer = serde_json::to_string(decision).map_err(|error| Trouble::File(error.into()).at(self.path()))?;
        let (session, call, digest) = (session_id.to_owned(), call_id.to_owned(), digest.to_owned());
        let put = self.write(move |desk| desk.answer(&session, &call, &digest, &answer, Timestamp::now()))?;
        match put {
            Put::Taken => Ok(()),
            Put::NotAsked => refuse("nobody asks about it; see the open questions"),
            Put::Other => refuse("it is asked about other arguments now; look at the question again"),
            Put::Answered => refuse("it is answered already"),
            Put::Over(until) => refuse(&format!("its time was over at {until}, and no answer is a no")),
        }
    }
}

/// What became of an answer.
pub(super) enum Put {
    Taken,
    NotAsked,
    Other,
    Answered,
    Over(Timestamp),
}

impl super::Desk {
    fn answer(
        &mut self,
        session: &str,
        call: &str,
        digest: &str,
        answer: &str,
        now: Timestamp,
    ) -> Result<Put, Trouble> {
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let find = "SELECT run_id, session, until, answer IS NOT NULL, digest = ?3 FROM questions
                    WHERE session = (SELECT id FROM sessions WHERE session_id = ?1) AND call_id = ?2
                    ORDER BY digest = ?3 DESC, answer IS NOT NULL, line LIMIT 1";
        let found: Option<(String, i64, i64, bool, bool)> = transaction
            .query_row(find, (session, call, digest), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .optional()?;
        let Some((run_id, session, until, answered, same)) = found else { return Ok(Put::NotAsked) };
        let until = Timestamp::from_microsecond(until).unwrap_or(Timestamp::MAX);
        match () {
            () if !same => return Ok(Put::Other),
            () if answered => return Ok(Put::Answered),
            () if until < now => return Ok(Put::Over(until)),
            () => {}
        }
        transaction.execute(
            "UPDATE questions SET answer = ?4 WHERE session = ?1 AND call_id = ?2 AND run_id = ?3",
            (session, call, run_id, answer),
        )?;
        transaction.commit()?;
        Ok(Put::Taken)
    }
}

impl Inbox {
    fn look(&self, approval: &Approval, now: Timestamp) -> Result<Decision, JournalError> {
        let found: Option<(i64, Option<String>)> = self.store.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT until, answer FROM questions
                 WHERE session = (SELECT id FROM sessions WHERE session_id = ?1)
                     AND call_id = ?2 AND run_id = ?3 AND digest = ?4",
            )?;
            let run = &approval.at.run;
            let key = (&run.session_id, &approval.call.id, &run.run_id, &approval.digest);
            Ok(statement.query_row(key, |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
        })?;
        Ok(match found {
            Some((_, Some(answer))) => serde_json::from_str(&answer).map_err(|error| {
                let message = super::damaged(&self.store.path().display().to_string(), &error.to_string());
                JournalError::new(JournalFault::Corrupt, message)
            })?,
            Some((until, None)) if until < now.as_microsecond() => {
                Decision::Deny { reason: "no one answered in time".to_owned() }
            }
            Some((_, None)) | None => Decision::Later,
        })
    }
}

impl Approver for Inbox {
    async fn decide(&self, approval: &Approval) -> Decision {
        let (inbox, wanted) = (self.clone(), approval.clone());
        let look = move || inbox.look(&wanted, Timestamp::now());
        match tokio::task::spawn_blocking(look).await {
            Ok(Ok(decision)) => decision,
            // Not a no: the answer may be there, and be found when the journal can be read again.
            Ok(Err(error)) => {
                tracing::warn!(%error, "the inbox cannot be read");
                Decision::Later
            }
            Err(error) => {
                tracing::warn!(%error, "the inbox cannot be read");
                Decision::Later
            }
        }
    }
}
