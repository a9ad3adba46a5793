//! `vertebra sessions questions` and `answer`: list open questions and answer them.

use std::{io::Write as _, process::ExitCode};

use anyhow::{Context as _, bail, ensure};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use vertebra::Decision;
use vertebra_journal::Question;
use vertebra_kit::permissions::{self, Reply};

use super::{
    Past,
    going_on::{self, Going},
    list::ago,
    past,
};
use crate::{
    above,
    assembly::WAIT,
    options::AgentOptions,
    run::Show,
    view::{
        rows::{BOLD, DIM, YELLOW},
        text::{on_one_line, short_id},
    },
};

/// How many digits of a digest are shown.
const DIGITS: usize = 16;

/// The options of `vertebra sessions questions`.
#[derive(clap::Args)]
pub(super) struct Questions {
    /// List only the questions of this session
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Print JSON; this is the default in a pipe
    #[arg(long)]
    json: bool,
}

/// The options of `vertebra sessions answer`.
#[derive(clap::Args)]
#[command(after_help = "\
The answer is kept in the journal until the session is resumed. It is valid only for
the arguments that the question shows. With --digest, it is rejected if the question
has changed since you saw it. To resume with other permissions, models or limits, use
`vertebra sessions resume`.

Examples:
  vertebra sessions answer last --approve --resume
  vertebra sessions answer last --deny \"not on a Friday\"")]
pub(super) struct Answer {
    /// Session: its ID, a unique start or end of it, or `last`
    #[arg(value_name = "SESSION")]
    session: String,
    /// Call to answer for, if the session asks about several
    #[arg(value_name = "CALL")]
    call: Option<String>,
    #[command(flatten)]
    what: What,
    /// Require this digest of the arguments, or its first digits
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
    /// Resume the session at once; if it asks again, it waits again
    #[arg(long)]
    resume: bool,
    /// Resume with this model [default: the session's]
    #[arg(long, short, value_name = "MODEL", requires = "resume")]
    model: Option<String>,
    #[command(flatten)]
    show: Show,
}

/// The answer.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct What {
    /// Approve exactly these arguments
    #[arg(long)]
    approve: bool,
    /// Deny the call; the model reads the reason
    #[arg(long, value_name = "WHY")]
    deny: Option<String>,
    /// Approve the call with these arguments instead, as a JSON object
    #[arg(long, value_name = "JSON")]
    edit: Option<String>,
}

/// A question as JSON.
#[derive(Serialize)]
struct Asked<'a> {
    #[serde(flatten)]
    question: &'a Question,
    /// Whether it has expired; then the call is denied.
    expired: bool,
}

pub(super) async fn questions(options: &Questions) -> anyhow::Result<ExitCode> {
    let store = past::read()?;
    let found = match (&store, &options.session) {
        (Some(store), Some(words)) => store.questions(Some(&store.find(words)?.session_id))?,
        (Some(store), None) => store.questions(None)?,
        (None, Some(words)) => bail!("no such session: `{words}`; the journal is empty"),
        (None, None) => Vec::new(),
    };
    let now = Timestamp::now();
    if crate::programs::read_it(options.json) {
        let asked = found.iter().map(|question| Asked { question, expired: question.until < now });
        crate::programs::print(&asked.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = anstream::stdout().lock();
    if found.is_empty() {
        writeln!(out, "no open questions")?;
    }
    for question in &found {
        let Question { session_id, approval, until } = question;
        let (session, call) = (short_id(session_id), on_one_line(&approval.call.id));
        let since = ago(approval.at.timestamp, now);
        writeln!(
            out,
            "{BOLD}session {session}{BOLD:#} {DIM}in {}, asked {since}{DIM:#}",
            on_one_line(&approval.at.run.working_directory)
        )?;
        write!(out, "{}", permissions::Question::about(approval, None).await.whole())?;
        if *until < now {
            writeln!(out, "{YELLOW}expired at {until}; the call will be denied{YELLOW:#}\n")?;
        } else {
            let digest = &approval.digest[..approval.digest.floor_char_boundary(DIGITS)];
            writeln!(
                out,
                "{DIM}answer by {until}: vertebra sessions answer {session} {call} --digest {digest} --approve --resume{DIM:#}\n"
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn answer(options: Answer) -> anyhow::Result<ExitCode> {
    ensure!(
        !above::is_agent(),
        "an agent cannot answer for a person, and an agent started this command; answer on your own terminal"
    );
    let past = Past::find(&options.session)?;
    let question = the_question(&past, options.call.as_deref())?;
    let approval = &question.approval;
    if let Some(seen) = &options.digest {
        ensure!(
            seen.len() >= 8 && approval.digest.starts_with(&**seen),
            "the arguments of `{}` have changed since you saw them: their digest is now {}; look at the question again",
            on_one_line(&approval.call.id),
            approval.digest,
        );
    }
    let decision = match options.what {
        What { approve: true, .. } => approval.approve(),
        What { edit: Some(json), .. } => match Reply::edited(&json).context("--edit")? {
            Reply::Edit { args } => Decision::Edit { args },
            _ => bail!("--edit expects a JSON object"),
        },
        What { deny, .. } => Decision::Deny { reason: deny.unwrap_or_default() },
    };
    let store = past::write()?;
    store.answer(&past.row.session_id, &approval.call.id, &approval.digest, &decision)?;
    drop(store);
    if options.resume {
        let agent = AgentOptions { model: options.model, wait: Some(WAIT), ..AgentOptions::default() };
        return going_on::go_on(past, &[], Going { agent, show: options.show }).await;
    }
    let session = short_id(&past.row.session_id);
    if crate::programs::read_it(false) {
        crate::programs::print(
            &json!({ "session_id": past.row.session_id, "call_id": approval.call.id, "digest": approval.digest, "answer": decision }),
        )?;
    } else {
        writeln!(std::io::stdout(), "answered; continue with: vertebra sessions resume {session}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds the question to answer.
fn the_question(past: &Past, call: Option<&str>) -> anyhow::Result<Question> {
    let session = short_id(&past.row.session_id);
    let mut open = past.store.questions(Some(&past.row.session_id))?;
    open.retain(|question| call.is_none_or(|call| &*question.approval.call.id == call));
    match (open.len(), call) {
        (1, _) => Ok(open.swap_remove(0)),
        (0, Some(call)) => bail!("session {session} has no open question about `{}`", on_one_line(call)),
        (0, None) => bail!("session {session} has no open question"),
        (_, _) => {
            let calls: Vec<String> = open.iter().map(|question| on_one_line(&question.approval.call.id)).collect();
            bail!("session {session} has several open questions; name one of these calls: {}", calls.join(", "))
        }
    }
}
