//! `vertebra explain-command`: shows what would happen to a command in this folder now, and how the bash policy judges it.

mod here;
mod hooks;
mod page;

use std::{
    env,
    io::{BufRead, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};
use vertebra::shell::quote_line;
use vertebra_kit::bash::policy::{Ground, Judgement, judge};

use self::here::Here;
use crate::{hooks::trial::Handlers, programs::escaped};

/// A longer line is skipped and answered with an error.
const MAX_LINE: u64 = 8 * 1024 * 1024;

/// The options of `vertebra explain-command`.
#[derive(Args)]
#[command(after_help = "\
In a terminal the command prints what an agent in this folder would do now, by your rules, hooks, mode and sandbox:
run the command, ask you, or deny it. Then it prints how the bash policy alone judges the command: the parse, the
decision, the reason and the risk classes. In a pipe, or with --json, it prints one object per command:

  {\"here\": {\"outcome\": \"allowed\" | \"asked\" | \"denied\", \"reason\": \"…\", \"rules\": [\"…\"], \"mode\": \"ask\",
            \"more_than_reads\": [\"npm test\"], \"sandbox_forbids\": [\"network\", …],
            \"hooks\": [{\"name\": \"no-force-push\", \"origin\": \"vertebra.toml:3\", \"verdict\": \"deny\" | null, \"reason\": \"…\"}]},
   \"decision\": \"allow\" | \"ask\" | \"deny\", \"classes\": [\"recursive_delete\", …], \"reason\": \"…\",
   \"span\": {\"start\": 9, \"end\": 24, \"text\": \"rm -rf ~/photos\"} | null, \"parse\": [{\"depth\": 0, \"what\": \"command\", \"text\": \"…\"}]}

`decision` is that of the bash policy; with --stdin there is no `here`. `start` and `end` are byte offsets in the command.
Hooks that are rules answer; programs of hooks are named and not started, unless you pass --run-hooks. The exit code is 0 if every command could be judged, whatever the decision.
Quote the command if it contains pipes, variables or other shell syntax. Write options before the command.

Examples:
  vertebra explain-command ls -la
  vertebra explain-command 'cd /tmp && rm -rf ~/photos'
  vertebra explain-command --json 'curl http://x | sh'
  echo '\"curl http://x | sh\"' | vertebra explain-command --stdin")]
pub(crate) struct Options {
    /// Command to explain: one quoted command line, or its words
    #[arg(
        required_unless_present = "stdin",
        conflicts_with = "stdin",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<String>,
    /// Print JSON (the default in a pipe)
    #[arg(long)]
    json: bool,
    /// Read commands from stdin, one JSON string per line
    #[arg(long)]
    stdin: bool,
    /// Start the programs of hooks that would see the command
    #[arg(long, conflicts_with = "stdin")]
    run_hooks: bool,
    /// Working folder of the command
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
}

/// Judges the command and prints the result.
pub(crate) async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let ground = ground(&options.folder)?;
    if options.stdin {
        return filter(&ground);
    }
    let command = command_line(&options.command);
    let judgement = judge(&command, &ground);
    let handlers = if options.run_hooks { Handlers::Run } else { Handlers::Stay };
    let here = match Here::look(&command, &judgement, &ground) {
        Ok(here) => {
            hooks::answers(&command, Path::new(&ground.folder), handlers).await.map(|said| here.with_hooks(said))
        }
        Err(error) => Err(error),
    };
    if crate::programs::read_it(options.json) {
        let mut object = object(&command, &judgement);
        object["here"] = match here {
            Ok(here) => here.object(),
            Err(error) => json!({ "error": format!("{error:#}") }),
        };
        writeln!(std::io::stdout().lock(), "{}", escaped(&object.to_string()))?;
    } else {
        write!(anstream::stdout(), "{}{}", page::here(here), page::page(&command, &judgement))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the command line. One word is a whole command line; several words are quoted and joined.
fn command_line(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => quote_line(words),
    }
}

fn ground(folder: &Path) -> anyhow::Result<Ground> {
    let folder = std::path::absolute(folder).with_context(|| format!("--folder {}", folder.display()))?;
    // A symbolic link would make the folder's own files look foreign. A folder that does not exist is judged by its path.
    let folder = folder.canonicalize().unwrap_or(folder);
    let home = env::var("HOME").ok().filter(|home| home.starts_with('/')).unwrap_or_else(|| "/root".to_owned());
    Ok(Ground::new(folder.to_string_lossy(), home))
}

/// Answers each line as soon as it arrives.
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
        writeln!(out, "{}", escaped(&answer.to_string()))?;
        out.flush()?;
    }
    Ok(if all_judged { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads a line without its line end. A line that is too long is cut, which makes it an error later.
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
