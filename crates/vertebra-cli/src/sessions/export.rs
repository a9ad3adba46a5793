//! `vertebra sessions export` and `verify`: a session as a file, and whether one is what was recorded.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context as _;
use serde_json::json;
use vertebra_journal::{Exported, SigningKey, Verified, VerifyingKey, key_text, read_key, verify_export};

use super::Past;
use crate::{
    assembly::World,
    key::machine_key,
    view::text::{counted, short_id, visible},
};

/// The key that exports are signed with.
const KEY_FILE: &str = "journal-signing.key";

/// What to export.
#[derive(clap::Args)]
#[command(after_help = "\
A signature proves that whoever has the key exported exactly these lines. It does not prove that they are what happened:
who owns the key and the machine can record what they like. The key is made on first use and kept in the state folder.")]
pub(super) struct Export {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// Write it to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Sign it with this machine's key, whose public half is shown
    #[arg(long)]
    sign: bool,
}

/// What to verify.
#[derive(clap::Args)]
#[command(after_help = "\
The chain of a session shows that no line was changed, moved, added or taken away since, unless somebody made the whole
chain anew; keep its last link elsewhere to see that too. Exit codes: 0 intact, 1 not, or nothing to tell by.")]
pub(super) struct Verify {
    /// The session
    #[arg(value_name = "SESSION", required_unless_present = "export", conflicts_with = "export")]
    session: Option<String>,
    /// A signed export, instead of a session of the journal
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// The public key that it must be signed with [default: this machine's]
    #[arg(long, value_name = "KEY", requires = "export", value_parser = |text: &str| read_key(text))]
    key: Option<VerifyingKey>,
    /// As JSON, for programs; in a pipe it is JSON anyway
    #[arg(long)]
    json: bool,
}

fn own_key() -> anyhow::Result<SigningKey> {
    let state = World::of_process().state.context("there is no folder for the key: set HOME or XDG_STATE_HOME")?;
    let path = state.join(KEY_FILE);
    let key = machine_key(&path).with_context(|| path.display().to_string())?;
    Ok(SigningKey::from_bytes(&key))
}

pub(super) fn export(options: &Export) -> anyhow::Result<ExitCode> {
    let past = Past::find(&options.session)?;
    let key = options.sign.then(own_key).transpose()?;
    let Exported { lines, unreadable, head } = match &options.to {
        Some(path) => {
            let file = File::create(path).with_context(|| path.display().to_string())?;
            past.store.export(&past.row.session_id, &mut BufWriter::new(&file), key.as_ref())?
        }
        None => past.store.export(&past.row.session_id, &mut std::io::stdout().lock(), key.as_ref())?,
    };
    let mut told = std::io::stderr().lock();
    writeln!(told, "{} of session {}, head {head}", counted(lines, "line"), short_id(&past.row.session_id))?;
    if let Some(key) = key {
        writeln!(told, "signed; the public key is {}", key_text(&key.verifying_key()))?;
    }
    if unreadable.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let numbers: Vec<String> = unreadable.iter().take(20).map(ToString::to_string).collect();
    writeln!(told, "{} cannot be read and are not in it: {}", counted(unreadable.len(), "line"), numbers.join(", "))?;
    Ok(ExitCode::FAILURE)
}

pub(super) fn verify(options: &Verify) -> anyhow::Result<ExitCode> {
    let programs = crate::programs::read_it(options.json);
    if let Some(path) = &options.export {
        let key = options.key.map_or_else(|| own_key().map(|key| key.verifying_key()), Ok)?;
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let signed = verify_export(BufReader::new(file), &key).with_context(|| path.display().to_string())?;
        if programs {
            crate::programs::print(
                &json!({ "verified": "signed", "session_id": signed.session_id, "lines": signed.lines, "head": signed.head }),
            )?;
        } else {
            let (lines, session) = (counted(signed.lines, "line"), visible(&signed.session_id).into_owned());
            writeln!(std::io::stdout(), "exactly what was signed: {lines} of {session}, head {}", signed.head)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let past = Past::find(options.session.as_deref().unwrap_or_default())?;
    let verified = past.store.verify(&past.row.session_id)?;
    if programs {
        crate::programs::print(&verified)?;
    } else {
        writeln!(std::io::stdout(), "{}", words(&verified))?;
    }
    Ok(if matches!(verified, Verified::Intact { .. }) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn words(verified: &Verified) -> String {
    match verified {
        Verified::Intact { lines, head } => format!("intact: {}, head {head}", counted(*lines, "line")),
        Verified::Broken { line, why, found } => {
            let found = found.as_deref().map(|found| format!("\nfound: {}", visible(found))).unwrap_or_default();
            format!("broken at line {line}: {}{found}", visible(why))
        }
        Verified::NoChain { lines } => {
            format!("recorded without a chain: nothing can be told of its {}", counted(*lines, "line"))
        }
    }
}
