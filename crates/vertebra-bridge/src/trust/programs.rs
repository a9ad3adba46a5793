//! What is known of programs that hooks start: which of them load files that their command line does not name.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
};

use vertebra::shell::only_starts;

/// Programs that load no code from the folder in which they run, apart from what their command line says.
const BOUNDED: &[&str] = &[
    ":",
    "[",
    "[[",
    "basename",
    "base64",
    "bc",
    "break",
    "cat",
    "chmod",
    "cmp",
    "comm",
    "continue",
    "cp",
    "curl",
    "cut",
    "date",
    "declare",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "export",
    "expr",
    "false",
    "fgrep",
    "file",
    "flock",
    "fold",
    "getopts",
    "git",
    "gofmt",
    "grep",
    "gzip",
    "gunzip",
    "hash",
    "head",
    "hexdump",
    "hostname",
    "id",
    "install",
    "jobs",
    "join",
    "kill",
    "let",
    "ln",
    "local",
    "logger",
    "ls",
    "md5sum",
    "mkdir",
    "mktemp",
    "mv",
    "nc",
    "nl",
    "notify-send",
    "od",
    "openssl",
    "osascript",
    "paste",
    "pgrep",
    "printf",
    "ps",
    "pwd",
    "read",
    "readlink",
    "readonly",
    "realpath",
    "return",
    "rev",
    "rg",
    "rm",
    "rmdir",
    "ruff",
    "rustfmt",
    "say",
    "seq",
    "set",
    "sha1sum",
    "sha256sum",
    "shasum",
    "shellcheck",
    "shift",
    "sleep",
    "sort",
    "split",
    "stat",
    "sync",
    "tac",
    "tail",
    "tar",
    "tee",
    "test",
    "touch",
    "tr",
    "trap",
    "true",
    "truncate",
    "tty",
    "type",
    "ulimit",
    "umask",
    "uname",
    "uniq",
    "unset",
    "vertebra",
    "vertebra-hook",
    "wait",
    "wc",
    "wget",
    "which",
    "whoami",
    "xxd",
    "yq",
    "zcat",
];

/// Programs that run what they find in the project: build tools, package managers, test runners and their like. A script in
/// a hook folder that starts one of them is reported; in a command line, every program that is not known to be bounded is.
const OPEN: &[&str] = &[
    "ansible",
    "ansible-playbook",
    "ant",
    "asdf",
    "ava",
    "bazel",
    "biome",
    "black",
    "buck",
    "buck2",
    "bun",
    "bundle",
    "bunx",
    "cabal",
    "cargo",
    "cmake",
    "composer",
    "deno",
    "direnv",
    "docker",
    "docker-compose",
    "dotnet",
    "eslint",
    "fab",
    "flake8",
    "flutter",
    "go",
    "gmake",
    "gradle",
    "gradlew",
    "grunt",
    "gulp",
    "hatch",
    "husky",
    "invoke",
    "jest",
    "just",
    "lefthook",
    "lein",
    "lua",
    "make",
    "mise",
    "mix",
    "mocha",
    "meson",
    "mvn",
    "mvnw",
    "mypy",
    "ninja",
    "nix",
    "nox",
    "npm",
    "npx",
    "nx",
    "pdm",
    "php",
    "phpunit",
    "pip",
    "pip3",
    "pipenv",
    "pnpm",
    "pnpx",
    "podman",
    "poetry",
    "pre-commit",
    "prettier",
    "pulumi",
    "pylint",
    "pyright",
    "pytest",
    "rake",
    "rebar3",
    "Rscript",
    "rspec",
    "rubocop",
    "sbt",
    "scons",
    "stack",
    "swift",
    "task",
    "terraform",
    "terragrunt",
    "tofu",
    "tox",
    "ts-node",
    "tsc",
    "tsx",
    "turbo",
    "uv",
    "uvx",
    "vite",
    "vitest",
    "waf",
    "webpack",
    "yarn",
];

/// Variables that make programs load code. One `*` at the end stands for the rest of a name.
const LOADING: &[&str] = &[
    "BASH_ENV",
    "BASH_FUNC_*",
    "BASHOPTS",
    "BUNDLE_*",
    "CDPATH",
    "CLASSPATH",
    "DYLD_*",
    "ENV",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH*",
    "GIT_CONFIG*",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JQ_LIBRARY_PATH",
    "JDK_JAVA_OPTIONS",
    "LD_*",
    "LUA_*",
    "MAKEFLAGS",
    "NODE_*",
    "npm_*",
    "PERL*",
    "PS4",
    "PYTHON*",
    "RUBYLIB",
    "RUBYOPT",
    "RUBYPATH",
    "SHELLOPTS",
    "TSX_*",
    "ZDOTDIR",
];

/// Variables that every program of a project's hook gets: nothing is loaded from the user's site folder or the working
/// folder, and nothing is written beside a script.
const SET: &[(&str, &str)] = &[
    ("PYTHONNOUSERSITE", "1"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("AWKPATH", "/usr/share/awk"),
    ("AWKLIBPATH", "/usr/lib/gawk"),
];

/// Where programs are if no `PATH` says so.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How a program takes the script that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interpreter {
    Python,
    Node,
    Ruby,
    Perl,
    Shell,
    /// A file follows `-f`; otherwise the program is on the command line.
    Filter,
}

/// What is known of a program by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Bounded,
    Wrapper,
    Interpreter(Interpreter),
    /// It is known to run what it finds in the project.
    Open,
    /// Nothing is known of it.
    Unknown,
}

/// Returns what is known of a program with this name, without folders.
pub(super) fn known(name: &str) -> Known {
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    match plain {
        "python" | "pypy" => return Known::Interpreter(Interpreter::Python),
        "node" | "nodejs" => return Known::Interpreter(Interpreter::Node),
        "ruby" => return Known::Interpreter(Interpreter::Ruby),
        "perl" => return Known::Interpreter(Interpreter::Perl),
        _ => {}
    }
    match name {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => Known::Interpreter(Interpreter::Shell),
        "awk" | "gawk" | "mawk" | "sed" | "jq" => Known::Interpreter(Interpreter::Filter),
        _ if name == "exec" || only_starts(name) => Known::Wrapper,
        _ if BOUNDED.contains(&name) => Known::Bounded,
        _ if OPEN.contains(&name) => Known::Open,
        _ => Known::Unknown,
    }
}

/// Returns whether a variable makes programs load code.
pub(super) fn is_loading(name: &str) -> bool {
    name == "PATH"
        || LOADING.iter().any(|of| match of.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == *of,
        })
}

/// Returns the environment of a project's hook: without variables that load code, and with a `PATH` that finds no program
/// in the project.
pub(super) fn environment(variables: &[(OsString, OsString)], root: &Path) -> Vec<(OsString, OsString)> {
    let kept = variables.iter().filter(|(name, _)| name == "PATH" || !name.to_str().is_some_and(is_loading));
    let kept = kept.map(|(name, value)| {
        let value = if name == "PATH" { path_outside(value, root) } else { value.clone() };
        (name.clone(), value)
    });
    let mut kept: BTreeMap<OsString, OsString> = kept.collect();
    // Without a `PATH`, or with an empty one, some shells look in the working folder.
    let path = kept.entry("PATH".into()).or_default();
    if path.is_empty() {
        *path = USUAL_PATH.into();
    }
    kept.extend(SET.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    kept.into_iter().collect()
}

/// Returns the environment of a person's own hook, which is as they have it, but finds no program in the project either.
pub(super) fn own_environment(variables: &[(OsString, OsString)], root: &Path) -> Vec<(OsString, OsString)> {
    let outside = |value: &OsStr| Some(path_outside(value, root)).filter(|path| !path.is_empty());
    let value = |name: &OsStr, value: &OsString| {
        if name == "PATH" { outside(value).unwrap_or_else(|| USUAL_PATH.into()) } else { value.clone() }
    };
    variables.iter().map(|(name, text)| (name.clone(), value(name, text))).collect()
}

/// Returns the folders of a `PATH` that are absolute and outside the project.
fn path_outside(path: &OsStr, root: &Path) -> OsString {
    let is_outside = |folder: &Path| {
        folder.is_absolute()
            && !folder.starts_with(root)
            && !folder.canonicalize().is_ok_and(|real| real.starts_with(root))
    };
    let folders = std::env::split_paths(path).filter(|folder| is_outside(folder));
    std::env::join_paths(folders).unwrap_or_default()
}
