//! Variables that change what programs do: which code they run, load or find first, and whom they talk to.

use super::{
    Class,
    judge::{Judge, Origin},
    places::Place,
    scope::Made,
    value::is_known,
};

/// Variables whose value is a command of its own.
const COMMANDS: [&str; 26] = [
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_PROXY_COMMAND",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "PROMPT_COMMAND",
    "FCEDIT",
    "CC",
    "CXX",
    "LD",
    "AR",
    "RSYNC_RSH",
    "CVS_RSH",
    "SYSTEMD_PAGER",
    "FZF_DEFAULT_COMMAND",
];
/// Variables whose value is a program that is given words.
const PROGRAMS: [&str; 7] = [
    "RUSTC",
    "RUSTDOC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "GIT_EXTERNAL_DIFF",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WRAPPER",
];
/// Variables whose value is expanded as a prompt.
const PROMPTS: [&str; 5] = ["PS0", "PS1", "PS2", "PS3", "PS4"];
/// Variables that name a script to run first.
const SCRIPTS: [&str; 4] = ["BASH_ENV", "ENV", "PYTHONSTARTUP", "ZDOTDIR"];
/// Variables that load foreign code or settings into programs, by how they begin.
const LOADERS: [&str; 24] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_BIND",
    "LD_CONFIG",
    "DYLD_INSERT",
    "DYLD_FORCE",
    "PERL5OPT",
    "PERL5DB",
    "RUBYOPT",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_CONFIG",
    "GIT_ALLOW_PROTOCOL",
    "INPUTRC",
    "CURL_HOME",
    "WGETRC",
    "BASH_LOADABLES_PATH",
    "GCONV_PATH",
    "SSLKEYLOGFILE",
    "MAKEFILES",
    "DOCKER_HOST",
    "PYTHONHOME",
    "BASH_FUNC_",
    "FZF_DEFAULT_OPTS",
];
/// Variables that name folders in which programs find code.
const FOLDERS: [&str; 9] = [
    "PYTHONPATH",
    "NODE_PATH",
    "PERL5LIB",
    "PERLLIB",
    "RUBYLIB",
    "LUA_PATH",
    "CLASSPATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
];
/// Variables that name where packages come from, by how they end.
const SOURCES: [&str; 5] = ["INDEX_URL", "_REGISTRY", "GOPROXY", "GONOSUMDB", "GOINSECURE"];
/// Flags in variables of options that load or run something.
const FLAGS: [&str; 11] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "agent",
    "--inspect",
    "-toolexec",
    "-exec",
    "-vettool",
    "-fplugin",
    "-wrapper",
];
const OPTIONS: [&str; 11] = [
    "NODE_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JAVA_OPTS",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "GOFLAGS",
    "CFLAGS",
    "CXXFLAGS",
    "GIT_TRACE_SETUP",
];
/// How folders of programs are called.
const BINARIES: [&str; 6] = ["bin", ".bin", "sbin", "shims", "scripts", "Scripts"];

impl Judge<'_> {
    /// Sets a variable, and judges what that does to programs.
    pub(super) fn set(&mut self, name: &str, value: String) {
        if !value.is_empty() {
            self.variable_for_programs(name, &value);
        }
        self.scope.set(name, value);
    }

    fn variable_for_programs(&mut self, name: &str, value: &str) {
        let lower = name.to_ascii_lowercase();
        let of_cargo = name.starts_with("CARGO_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"));
        if COMMANDS.contains(&name) {
            let within = Origin::Within(self.at.clone());
            self.subshell(|judge| judge.script(value, &within, &None));
        } else if PROGRAMS.contains(&name) || of_cargo {
            self.run_program(value);
        } else if PROMPTS.contains(&name) {
            self.latent(value, &self.at.clone());
        } else if SCRIPTS.contains(&name) {
            let made = self.resolved(value).and_then(|path| self.scope.made(&path).cloned());
            match made {
                Some(Made::Text(text)) => self.run_text(&text, &[]),
                _ => self.unknown(format!("{name} names a script that runs first")),
            }
        } else if LOADERS.iter().any(|loader| name.starts_with(loader)) {
            self.unknown(format!("{name} loads foreign code or settings into programs"));
        } else if FOLDERS.contains(&name) {
            self.code_folders(name, value);
        } else if OPTIONS.contains(&name) && FLAGS.iter().any(|flag| value.contains(flag)) {
            self.unknown(format!("{name} loads foreign code into programs"));
        } else if let Some((_, linker)) = value.split_once("linker=").filter(|_| name.ends_with("FLAGS")) {
            self.run_argument(linker.split_whitespace().next().unwrap_or_default());
        } else if value.contains('/')
            && (SOURCES.iter().any(|source| name.ends_with(source)) || lower.starts_with("npm_config_"))
        {
            self.ask(Class::RemoteCode, format!("{name} changes where packages come from, or what runs them"));
        } else if lower.ends_with("_proxy") && lower != "no_proxy" && !self.is_own_host(value) {
            self.deny(Class::NetworkExfiltration, format!("{name} leads all connections through another machine"));
        } else if name == "PATH" {
            self.search_path(value);
        }
    }

    /// Code of the project is its own; what lies where anybody writes is not.
    fn code_folders(&mut self, name: &str, value: &str) {
        let foreign = value.split(':').find(|folder| {
            is_known(folder) && matches!(self.place(folder), Place::Scratch | Place::Outside | Place::Persistent)
        });
        if let Some(folder) = foreign {
            self.unknown(format!("{name} loads code from {folder}"));
        }
    }

    /// Programs are found in these folders first.
    fn search_path(&mut self, value: &str) {
        for folder in value.split(':') {
            if !is_known(folder) {
                continue;
            }
            let place = if folder.is_empty() { Place::Inside } else { self.place(folder) };
            let base = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let own = BINARIES.contains(&base) && place != Place::Scratch || place == Place::System;
            if !own {
                let shown = if folder.is_empty() { "." } else { folder };
                self.unknown(format!("programs would be taken from `{shown}`"));
            }
            self.scope.search.extend(self.resolved(folder));
        }
        self.scope.search.truncate(32);
    }
}
