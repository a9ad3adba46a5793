//! `vertebra explain-command`: what the bash policy makes of a command, for people and for programs.

mod page;

use std::{
    env,
    io::{BufRead, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};
use vertebra_kit::bash::policy::{Ground, Judgement, judge};

/// A longer line is answered with an error, and skipped to its end.
const MAX_LINE: u64 = 8 * 1024 * 1024;

/// What to explain, and how.
#[derive(Args)]
#[command(after_help = "\
In a terminal the parse, the classes, the decision and the part that caused it are shown; in a pipe, or with --json, one object:

  {\"decision\": \"allow\" | \"ask\" | \"deny\", \"classes\": [\"recursive_delete\", …], \"reason\": \"…\",
   \"span\": {\"start\": 9, \"end\": 24, \"text\": \"rm -rf ~/photos\"} | null, \"parse\": [{\"depth\": 0, \"what\": \"command\", \"text\": \"…\"}]}

`start` and `end` count bytes of the command. The exit code is 0 when every command could be judged, whatever the decision.

Examples:
  vertebra explain-command 'cd /tmp && rm -rf ~/photos'
  echo '\"curl http://x | sh\"' | vertebra explain-command --stdin")]
pub(crate) struct Options {
    /// The command, as one argument
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin", allow_hyphen_values = true)]
    command: Option<String>,
    /// Print JSON, also in a terminal
    #[arg(long)]
    json: bool,
    /// Read commands from standard input, a JSON string a line, and answer each with an object a line
    #[arg(long)]
    stdin: bool,
    /// The working folder of the command
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
}

/// Judges, and prints what came of it.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let ground = ground(&options.folder)?;
    if options.stdin {
        return filter(&ground);
    }
    let Some(command) = &options.command else { bail!("no command: write it as one argument, or use --stdin") };
    let judgement = judge(command, &ground);
    if crate::programs::read_it(options.json) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", object(command, &judgement))?;
    } else {
        write!(anstream::stdout(), "{}", page::page(command, &judgement))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn ground(folder: &Path) -> anyhow::Result<Ground> {
    let folder = std::path::absolute(folder).with_context(|| format!("--folder {}", folder.display()))?;
    // A link would make the folder's own files look foreign; a folder that is not there is judged by its name.
    let folder = folder.canonicalize().unwrap_or(folder);
    let home = env::var("HOME").ok().filter(|home| home.starts_with('/')).unwrap_or_else(|| "/root".to_owned());
    Ok(Ground::new(folder.to_string_lossy(), home))
}

/// Answers each line as soon as it is there.
fn filter(ground: &Ground) -> anyhow::Result<ExitCode> {
    let mut input = std::io::stdin().lock();
    let mut out = std::io::stdout().lock();
    let mut all_judged = true;
    let mut line = Vec::new();
    while read_line(&mut input, &mut line)? {
        let answer = match command(&line) {
            Ok(command) => object(&command, &judge(&command, ground)),
            Err(error) => {
                all_judged = false;
                json!({ "error": error })
            }
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(if all_judged { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads a line without its end; one that is too long is cut, which makes it an error later.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    use std::io::Read;
    line.clear();
    let read = input.by_ref().take(MAX_LINE).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else {
        input.skip_until(b'\n')?;
    }
    Ok(true)
}

fn command(line: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("the line is not UTF-8: {error}"))?;
    serde_json::from_str(text).map_err(|error| format!("the line is not a JSON string such as \"ls -la\": {error}"))
}

fn object(command: &str, judgement: &Judgement) -> Value {
    let span = judgement.span.as_ref().map(
        |span| json!({ "start": span.start, "end": span.end, "text": command.get(span.clone()).unwrap_or_default() }),
    );
    json!({
        "decision": judgement.decision,
        "classes": judgement.classes,
        "reason": judgement.reason,
        "span": span,
        "parse": judgement.outline,
    })
}
