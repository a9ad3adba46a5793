//! `vertebra sessions questions` and `answer`: what waits for somebody, and what they say.

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
    assembly::WAIT,
    options::AgentOptions,
    run::Show,
    view::{
        rows::{BOLD, DIM, YELLOW},
        text::{on_one_line, short_id},
    },
};

/// So much of a fingerprint tells it from others.
const DIGITS: usize = 16;

/// Whose questions.
#[derive(clap::Args)]
pub(super) struct Questions {
    /// Those of this session alone
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// As JSON, for programs; in a pipe it is JSON anyway
    #[arg(long)]
    json: bool,
}

/// What to answer.
#[derive(clap::Args)]
#[command(after_help = "\
The answer waits in the journal until the session is resumed. It holds for the arguments that the question shows and for
nothing else; with --digest it is refused if the question has changed since you saw it. To go on with other rights, models or limits:
`vertebra sessions resume`.")]
pub(super) struct Answer {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// The call, if the session asks about several
    #[arg(value_name = "CALL")]
    call: Option<String>,
    #[command(flatten)]
    what: What,
    /// The fingerprint of the arguments that you saw, or its beginning
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
    /// Go on with the session at once; if it asks again, it waits again
    #[arg(long)]
    resume: bool,
    /// Go on with this model [default: the session's]
    #[arg(long, short, value_name = "MODEL", requires = "resume")]
    model: Option<String>,
    #[command(flatten)]
    show: Show,
}

/// The answer.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct What {
    /// Yes, to exactly these arguments
    #[arg(long)]
    approve: bool,
    /// No; the model reads why
    #[arg(long, value_name = "WHY")]
    deny: Option<String>,
    /// Yes, with these arguments instead, as a JSON object
    #[arg(long, value_name = "JSON")]
    edit: Option<String>,
}

/// A question, for programs.
#[derive(Serialize)]
struct Asked<'a> {
    #[serde(flatten)]
    question: &'a Question,
    /// Whether its time is over: then the answer is no.
    expired: bool,
}

pub(super) async fn questions(options: &Questions) -> anyhow::Result<ExitCode> {
    let store = past::read()?;
    let found = match (&store, &options.session) {
        (Some(store), Some(words)) => store.questions(Some(&store.find(words)?.session_id))?,
        (Some(store), None) => store.questions(None)?,
        (None, Some(words)) => bail!("no such session: `{words}`; nothing was recorded yet"),
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
        writeln!(out, "nothing waits for an answer")?;
    }
    for question in &found {
        let Question { session_id, approval, until } = question;
        let (session, call) = (short_id(session_id), on_one_line(&approval.call_id));
        let since = ago(approval.at.timestamp, now);
        writeln!(
            out,
            "{BOLD}session {session}{BOLD:#} {DIM}in {}, asked {since}{DIM:#}",
            on_one_line(&approval.at.run.working_directory)
        )?;
        write!(out, "{}", permissions::Question::about(approval, None).await.short())?;
        if *until < now {
            writeln!(out, "{YELLOW}the time for an answer was over at {until}: it is a no{YELLOW:#}\n")?;
        } else {
            let digest = &approval.digest[..approval.digest.floor_char_boundary(DIGITS)];
            writeln!(
                out,
                "{DIM}until {until}: vertebra sessions answer {session} {call} --digest {digest} --approve --resume{DIM:#}\n"
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn answer(options: Answer) -> anyhow::Result<ExitCode> {
    let past = Past::find(&options.session)?;
    let question = the_question(&past, options.call.as_deref())?;
    let approval = &question.approval;
    if let Some(seen) = &options.digest {
        ensure!(
            seen.len() >= 8 && approval.digest.starts_with(&**seen),
            "`{}` is asked about other arguments than those you saw: their fingerprint is {}; look at the question again",
            on_one_line(&approval.call_id),
            approval.digest,
        );
    }
    let decision = match options.what {
        What { approve: true, .. } => approval.approve(),
        What { edit: Some(json), .. } => match Reply::edited(&json).context("--edit")? {
            Reply::Edit { args } => Decision::Edit { args },
            _ => bail!("--edit is a JSON object"),
        },
        What { deny, .. } => Decision::Deny { reason: deny.unwrap_or_default() },
    };
    let store = past::write()?;
    store.answer(&past.row.session_id, &approval.call_id, &approval.digest, &decision)?;
    drop(store);
    if options.resume {
        let agent = AgentOptions { model: options.model, wait: Some(WAIT), ..AgentOptions::default() };
        return going_on::go_on(past, &[], Going { agent, show: options.show }).await;
    }
    let session = short_id(&past.row.session_id);
    if crate::programs::read_it(false) {
        crate::programs::print(
            &json!({ "session_id": past.row.session_id, "call_id": approval.call_id, "digest": approval.digest, "answer": decision }),
        )?;
    } else {
        writeln!(std::io::stdout(), "answered; to go on with it: vertebra sessions resume {session}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The question that is meant.
fn the_question(past: &Past, call: Option<&str>) -> anyhow::Result<Question> {
    let session = short_id(&past.row.session_id);
    let mut open = past.store.questions(Some(&past.row.session_id))?;
    open.retain(|question| call.is_none_or(|call| &*question.approval.call_id == call));
    match (open.len(), call) {
        (1, _) => Ok(open.swap_remove(0)),
        (0, Some(call)) => bail!("session {session} does not ask about `{}` now", on_one_line(call)),
        (0, None) => bail!("session {session} asks nothing now"),
        (_, _) => {
            let calls: Vec<String> = open.iter().map(|question| on_one_line(&question.approval.call_id)).collect();
            bail!("session {session} asks about several calls: name one of {}", calls.join(", "))
        }
    }
}
