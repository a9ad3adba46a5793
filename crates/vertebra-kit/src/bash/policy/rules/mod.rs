//! Programs that no line of a table can describe.

mod archives;
mod builtins;
mod clouds;
mod databases;
mod delete;
mod files;
mod find;
mod git;
mod interpreters;
mod make;
mod network;
pub(super) mod own;
mod packages;
mod shells;
mod wrappers;

pub(super) use builtins::run_file;
pub(super) use delete::delete;
pub(crate) use packages::is_dry_run;

use super::{invoke::Call, judge::Judge};

/// Builtins of the shell, which see its functions.
pub(super) const SHELL: &[&str] = &[
    ".",
    "alias",
    "bind",
    "builtin",
    "cd",
    "command",
    "compgen",
    "complete",
    "coproc",
    "declare",
    "echo",
    "enable",
    "eval",
    "export",
    "getopts",
    "hash",
    "let",
    "local",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "set",
    "shift",
    "source",
    "test",
    "time",
    "trap",
    "typeset",
    "unset",
    "wait",
    "[",
];

/// Judges a call, and says what it prints.
pub(super) type Rule = fn(&mut Judge<'_>, &Call<'_>) -> String;

macro_rules! rules {
    ($($($name:literal)|+ => $rule:path,)*) => {
        /// The rule for a program.
        pub(super) fn rule(name: &str) -> Option<Rule> {
            match name {
                $($($name)|+ => Some($rule),)*
                _ => interpreters::versioned(name),
            }
        }

        /// All names that have a rule.
        pub(super) const NAMES: &[&str] = &[$($($name),+),*];
    };
}

rules! {
    "cd" | "pushd" | "popd" | "chdir" => builtins::cd,
    "echo" => builtins::echo,
    "printf" => builtins::printf,
    "eval" => builtins::eval,
    "source" | "." => builtins::source,
    "alias" => builtins::alias,
    "trap" => builtins::trap,
    "hash" => builtins::hash,
    "read" => builtins::read,
    "set" => builtins::set,
    "shopt" => builtins::shopt,
    "shift" => builtins::shift,
    "wait" | "getopts" => builtins::takes_names,
    "mapfile" | "readarray" => builtins::mapfile,
    "let" => builtins::evaluates,
    "test" | "[" => builtins::test,
    "complete" | "compgen" | "bind" | "enable" => builtins::hooks,
    "kill" => builtins::kill,
    "declare" | "typeset" | "export" | "readonly" | "local" | "unset" => builtins::declares,
    "bash" | "sh" | "dash" | "zsh" | "ksh" | "ash" | "mksh" | "fish" | "rbash" | "csh" | "tcsh" | "yash" => shells::shell,
    "env" | "cross-env" => wrappers::env,
    "exec" => wrappers::exec,
    "command" | "builtin" => wrappers::command,
    "xargs" | "gxargs" => wrappers::xargs,
    "parallel" => wrappers::parallel,
    "script" => wrappers::script,
    "flock" => wrappers::flock,
    "watch" => wrappers::watch,
    "hyperfine" => wrappers::hyperfine,
    "busybox" | "toybox" | "gnu" => wrappers::busybox,
    "sudo" | "doas" | "su" | "pkexec" | "runuser" | "gosu" | "su-exec" | "run0" => wrappers::elevate,
    "rm" => delete::rm,
    "shred" => delete::shred,
    "find" | "gfind" => find::find,
    "fd" | "fdfind" => find::fd,
    "mv" => files::mv,
    "cp" | "ln" | "install" | "link" => files::copy,
    "tee" | "sponge" => files::tee,
    "dd" => files::dd,
    "chmod" | "chown" | "chgrp" | "chattr" | "chcon" => files::modes,
    "tar" | "gtar" | "bsdtar" => archives::tar,
    "cpio" | "pax" => archives::copies,
    "zip" => archives::zip,
    "patch" => archives::patch,
    "rsync" => files::rsync,
    "sed" | "gsed" => files::sed,
    "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => interpreters::awk,
    "perl" | "ruby" | "node" | "nodejs" | "php" | "lua" | "luajit" | "tclsh" | "wish" | "expect" | "Rscript" | "R" | "julia"
    | "osascript" | "elixir" | "iex" | "erl" | "guile" | "racket" | "sbcl" | "clisp" | "gnuplot" | "octave" | "m4" | "jshell" | "groovy" | "jrunscript" | "ipython" | "irb" | "pry" | "psysh" | "python" | "python2" | "python3" | "pypy3" => interpreters::interpreter,
    "vim" | "vi" | "nvim" | "ex" | "view" | "ed" | "emacs" | "nano" | "gdb" | "lldb" | "pico" | "dc" | "vimdiff" | "rvim" | "red" => interpreters::editor,
    "convert" | "magick" | "mogrify" | "identify" | "composite" | "montage" => files::images,
    "mlr" | "exiftool" => interpreters::in_arguments,
    "serve" | "http-server" | "json-server" => interpreters::server,
    "less" | "more" | "most" => interpreters::pager,
    "psql" | "mysql" | "mariadb" | "sqlite3" | "duckdb" | "mongosh" | "mongo" | "clickhouse-client" | "cqlsh" | "sqlcmd" => databases::client,
    "redis-cli" | "valkey-cli" => databases::redis,
    "aws" | "gcloud" | "az" => clouds::cloud,
    "unzip" | "7z" | "7za" | "7zz" | "7zr" | "p7zip" | "unrar" | "rar" => archives::unpack,
    "make" | "gmake" | "bmake" => make::make,
    "git" => git::git,
    "gh" | "hg" | "svn" | "jj" | "degit" | "tiged" => git::others,
    "curl" => network::curl,
    "wget" | "wget2" => network::wget,
    "ssh" | "scp" | "mosh" | "rsh" | "rlogin" => network::ssh,
    "ping" | "ping6" | "host" | "nslookup" | "dig" | "drill" | "getent" | "whois" => network::lookup,
    "nc" | "ncat" | "netcat" => network::netcat,
    "npx" | "bunx" | "pnpx" | "pnpm" | "yarn" | "npm" | "bun" | "deno" => packages::node,
    "pip" | "pip3" | "pipx" | "uv" => packages::pip,
    "go" => packages::go,
    "rustc" => packages::rustc,
    "xdg-open" | "open" | "see" | "sensible-browser" | "wslview" => network::open,
    "poetry" | "pipenv" | "pdm" | "rye" | "hatch" | "conda" | "mamba" | "micromamba" | "bundle" | "bundler" | "mise" | "asdf" | "rbenv"
    | "pyenv" | "direnv" | "devbox" | "lerna" | "nvm" | "fnm" | "volta" => packages::runner,
    "docker" | "podman" => packages::docker,
    "printenv" => builtins::environment,
    "vertebra" => own::vertebra,
}
