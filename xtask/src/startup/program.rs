//! What is started, and how.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;

use crate::stage::Stage;
use crate::test::target_dir;

/// Two coding agents that install without building anything, pinned.
const CODEX: (&str, &str) = ("@openai/codex", "0.166.0");
const CLAUDE_CODE: (&str, &str) = ("@anthropic-ai/claude-code", "2.1.197");

/// What a person waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Version,
    Help,
    FirstRequest,
}

impl Case {
    pub(crate) const ALL: [Self; 3] = [Self::Version, Self::Help, Self::FirstRequest];
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Version => "`--version`",
            Self::Help => "`--help`",
            Self::FirstRequest => "the first request of a task",
        })
    }
}

pub(crate) struct Program {
    /// Its name and version.
    pub(crate) name: String,
    binary: PathBuf,
    /// How it is told a task for a model behind this port.
    task: fn(u16) -> Vec<String>,
    /// What it finds in the home folder.
    settings: Option<Settings>,
}

/// A file, and what it says of a model behind this port.
struct Settings {
    path: &'static str,
    text: fn(u16) -> String,
}

impl Program {
    /// Puts its settings into the home folder.
    pub(crate) fn settle(&self, port: u16, home: &Path) -> anyhow::Result<()> {
        let Some(Settings { path, text }) = &self.settings else { return Ok(()) };
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap_or(home))?;
        Ok(fs::write(path, text(port))?)
    }

    pub(crate) fn command(&self, case: Case, port: u16) -> Command {
        let mut command = Command::new(&self.binary);
        match case {
            Case::Version => command.arg("--version"),
            Case::Help => command.arg("--help"),
            Case::FirstRequest => command.args((self.task)(port)),
        };
        command
    }
}

/// For all alike: an empty home, keys that open nothing, and providers that are all behind the port.
pub(crate) fn environment(port: u16, home: &Path) -> [(&'static str, String); 9] {
    let base = format!("http://127.0.0.1:{port}");
    [
        ("PATH", std::env::var("PATH").unwrap_or_default()),
        ("HOME", home.display().to_string()),
        ("TERM", "dumb".to_owned()),
        ("OPENAI_API_KEY", "none".to_owned()),
        ("ANTHROPIC_API_KEY", "none".to_owned()),
        ("OPENAI_BASE_URL", format!("{base}/v1")),
        ("ANTHROPIC_BASE_URL", base),
        ("DISABLE_TELEMETRY", "1".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
    ]
}

/// Builds ours and installs the others. Ours is first.
pub(crate) fn build() -> anyhow::Result<Vec<Program>> {
    let folder = target_dir().join("startup");
    ensure!(
        Stage::new("build vertebra", "cargo build --profile dist --bin vertebra").passes(),
        "vertebra does not build"
    );
    let mut install = Stage::new("get peers", "npm install --no-audit --no-fund --prefix").arg(&folder);
    for (name, version) in [CODEX, CLAUDE_CODE] {
        install = install.arg(format!("{name}@{version}"));
    }
    ensure!(install.passes(), "the others cannot be installed");
    let root = std::env::current_dir()?;
    let installed = |name: &str| root.join(&folder).join("node_modules/.bin").join(name);
    Ok(vec![
        Program {
            name: "Vertebra".to_owned(),
            binary: root.join(target_dir()).join("dist/vertebra"),
            task: |_| words("run --model anthropic:claude-sonnet-4-5 hi"),
            settings: Some(Settings {
                path: ".config/vertebra/vertebra.toml",
                text: |port| format!("[model.provider.anthropic]\nbase_url = \"http://127.0.0.1:{port}/v1/\"\n"),
            }),
        },
        Program { name: format!("Codex {}", CODEX.1), binary: installed("codex"), task: codex, settings: None },
        Program {
            name: format!("Claude Code {}", CLAUDE_CODE.1),
            binary: installed("claude"),
            task: |_| words("-p hi"),
            settings: None,
        },
    ])
}

fn codex(port: u16) -> Vec<String> {
    let provider = format!(r#"model_providers.here={{name="here",base_url="http://127.0.0.1:{port}/v1"}}"#);
    let mut words = words("exec --skip-git-repo-check -c model_provider=here -c");
    words.extend([provider, "hi".to_owned()]);
    words
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}
