//! `vertebra sessions export` and `verify`: write a session to a file and check that it was not changed.

use std::{
    fs::File,
    io::{BufReader, BufWriter, IsTerminal as _, Write as _},
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
    programs::escaped,
    view::text::{counted, short_id, visible},
};

/// The key that exports are signed with.
const KEY_FILE: &str = "journal-signing.key";

/// The options of `vertebra sessions export`.
#[derive(clap::Args)]
#[command(after_help = "\
The signature proves that the owner of the key exported exactly these lines. It does not
prove that they are true: the owner of the key and the machine can record anything. The
key is created on first use and kept in the state folder.")]
pub(super) struct Export {
    /// Session: its ID, a unique start or end of it, or `last`
    #[arg(value_name = "SESSION")]
    session: String,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Sign the export with this machine's key and print the public key
    #[arg(long)]
    sign: bool,
}

/// The options of `vertebra sessions verify`.
#[derive(clap::Args)]
#[command(after_help = "\
Each fact in the journal is chained to all facts before it. `verify` finds the first one
that was changed, moved, added or removed. It cannot detect that the whole chain was
rewritten: keep the head it prints in another place and compare it.

Exit codes: 0 intact, 1 broken, or recorded without a chain.")]
pub(super) struct Verify {
    /// Session: its ID, a unique start or end of it, or `last`
    #[arg(value_name = "SESSION", required_unless_present = "export", conflicts_with = "export")]
    session: Option<String>,
    /// Verify this signed export instead of a session in the journal
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Require the signature of this public key [default: this machine's]
    #[arg(long, value_name = "KEY", requires = "export", value_parser = |text: &str| read_key(text))]
    key: Option<VerifyingKey>,
    /// Print JSON; this is the default in a pipe
    #[arg(long)]
    json: bool,
}

fn own_key() -> anyhow::Result<SigningKey> {
    let state =
        World::of_process().state.context("cannot find a folder for the signing key: set HOME or XDG_STATE_HOME")?;
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
        // What a terminal would obey, or hide, is written in the other way that JSON has for it.
        None if std::io::stdout().is_terminal() => {
            let mut lines = Vec::new();
            let exported = past.store.export(&past.row.session_id, &mut lines, key.as_ref())?;
            std::io::stdout().write_all(escaped(&String::from_utf8_lossy(&lines)).as_bytes())?;
            exported
        }
        None => past.store.export(&past.row.session_id, &mut std::io::stdout().lock(), key.as_ref())?,
    };
    let mut told = std::io::stderr().lock();
    writeln!(told, "exported {} of session {}, head {head}", counted(lines, "fact"), short_id(&past.row.session_id))?;
    if let Some(key) = key {
        writeln!(told, "signed; public key {}", key_text(&key.verifying_key()))?;
    }
    if unreadable.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let numbers: Vec<String> = unreadable.iter().take(20).map(ToString::to_string).collect();
    writeln!(told, "{} could not be read and are missing: {}", counted(unreadable.len(), "fact"), numbers.join(", "))?;
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
            let (lines, session) = (counted(signed.lines, "fact"), visible(&signed.session_id).into_owned());
            writeln!(std::io::stdout(), "signature valid: {lines} of {session}, head {}", signed.head)?;
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
        Verified::Intact { lines, head } => format!("intact: {}, head {head}", counted(*lines, "fact")),
        Verified::Broken { line, why, found } => {
            let found = found.as_deref().map(|found| format!("\nfound: {}", visible(found))).unwrap_or_default();
            format!("broken at fact {line}: {}{found}", visible(why))
        }
        Verified::NoChain { lines } => {
            format!("recorded without a chain: its {} cannot be verified", counted(*lines, "fact"))
        }
    }
}
