//! Variables that change what programs do: which code they run, load or find first, and whom they talk to.

use super::{
    Class, Decision,
    judge::{Judge, Origin},
    places::Place,
    scope::Made,
    value::is_known,
};

/// Variables whose value is a command.
const COMMANDS: [&str; 42] = [
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
    "AWS_PAGER",
    "BAT_PAGER",
    "CRONTAB_EDITOR",
    "DELTA_PAGER",
    "GH_EDITOR",
    "GH_PAGER",
    "HGEDITOR",
    "JJ_EDITOR",
    "KUBE_EDITOR",
    "MYSQL_PAGER",
    "PSQL_EDITOR",
    "PSQL_PAGER",
    "SUDO_EDITOR",
    "SVN_EDITOR",
    "SVN_SSH",
    "SYSTEMD_EDITOR",
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
const SCRIPTS: [&str; 6] = ["BASH_ENV", "ENV", "PYTHONSTARTUP", "ZDOTDIR", "RIPGREP_CONFIG_PATH", "R_PROFILE_USER"];
/// Variables that load foreign code or settings into programs, by how they begin.
const LOADERS: [&str; 42] = [
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
    "BASHOPTS",
    "SHELLOPTS",
    "CDPATH",
    "CMAKE_C_COMPILER_LAUNCHER",
    "CMAKE_CXX_COMPILER_LAUNCHER",
    "CORECLR_PROFILER",
    "CORECLR_ENABLE_PROFILING",
    "DOTNET_STARTUP_HOOKS",
    "EXINIT",
    "VIMINIT",
    "LUA_INIT",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CONFIG_FILE",
    "PYTHONWARNINGS",
    "TAR_OPTIONS",
];
/// Variables that name folders in which programs find code.
const FOLDERS: [&str; 13] = [
    "PYTHONPATH",
    "NODE_PATH",
    "PERL5LIB",
    "PERLLIB",
    "RUBYLIB",
    "LUA_PATH",
    "CLASSPATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_OBJECT_DIRECTORY",
    "JULIA_LOAD_PATH",
];
/// Variables that name where packages come from, by how they end.
const SOURCES: [&str; 5] = ["INDEX_URL", "_REGISTRY", "GOPROXY", "GONOSUMDB", "GOINSECURE"];
/// Flags in variables of options that load or run something.
const FLAGS: [&str; 14] = [
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
    "--eval",
    "$(",
    "SHELL=",
];
const OPTIONS: [&str; 14] = [
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
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "LDFLAGS",
];
/// How many folders of `PATH` are followed.
const MAX_SEARCH: usize = 32;
/// How folders of programs are called.
const BINARIES: [&str; 6] = ["bin", ".bin", "sbin", "shims", "scripts", "Scripts"];

/// Tables of the shell that map a command name to a program.
pub(super) fn is_of_commands(name: &str) -> bool {
    matches!(name.split('[').next(), Some("BASH_CMDS" | "BASH_ALIASES"))
}

impl Judge<'_> {
    /// Sets a variable, and judges what that does to programs.
    pub(super) fn set(&mut self, name: &str, value: String) {
        if is_of_commands(name) {
            let (table, word) = name.split_once('[').unwrap_or((name, ""));
            let word = word.strip_suffix(']').unwrap_or(word);
            if table == "BASH_CMDS" {
                self.stands_for(word, &value);
            } else {
                self.alias(word, &value);
            }
            return self.unknown(format!("{table} changes which program `{word}` runs"));
        }
        if !value.is_empty() {
            self.variable_for_programs(name, &value);
        }
        self.scope.set(name, value);
    }

    /// Sets a variable to a list, each element of which may be what one value would be.
    pub(super) fn set_all(&mut self, name: &str, values: Vec<String>) {
        for value in values.iter().filter(|value| !value.is_empty()) {
            self.variable_for_programs(name, value);
        }
        self.scope.set_all(name, values);
    }

    /// From now on, a word is a program that is called otherwise.
    pub(super) fn stands_for(&mut self, word: &str, path: &str) {
        let program = path.rsplit('/').next().unwrap_or_default().to_owned();
        if self.scope.search.first().is_none_or(|first| first != "/hashed") {
            self.scope.search.insert(0, "/hashed".to_owned());
            self.scope.search.truncate(MAX_SEARCH);
        }
        self.scope.make(format!("/hashed/{word}"), Made::Program(program));
    }

    /// From now on, a word is a text. One of a harmful command is harmful once it is used; using it here is judged then.
    pub(super) fn alias(&mut self, word: &str, text: &str) {
        if self.scope.aliases.size() < 64 {
            self.scope.aliases.insert_mut(word.to_owned(), text.to_owned());
        }
        let within = Origin::Within(self.at.clone());
        let found = self.trial(|judge| drop(judge.script(text, &within, &None)));
        if let Some((Decision::Deny, class, reason)) = found {
            self.ask(class, format!("defines an alias for a harmful command: {reason}"));
        }
    }

    fn variable_for_programs(&mut self, name: &str, value: &str) {
        self.charge(name.len() + value.len());
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
                _ => self.unknown(format!("{name} names a script that runs before other programs")),
            }
        } else if LOADERS.iter().any(|loader| name.starts_with(loader)) {
            self.unknown(format!("{name} loads other code or settings into programs"));
        } else if FOLDERS.contains(&name) {
            self.code_folders(name, value);
        } else if OPTIONS.contains(&name) && FLAGS.iter().any(|flag| value.contains(flag)) {
            self.unknown(format!("{name} loads other code into programs"));
        } else if let Some((_, linker)) = value.split_once("linker=").filter(|_| name.ends_with("FLAGS")) {
            self.run_argument(linker.split_whitespace().next().unwrap_or_default());
        } else if value.contains('/')
            && (SOURCES.iter().any(|source| name.ends_with(source)) || lower.starts_with("npm_config_"))
        {
            self.ask(Class::RemoteCode, format!("{name} changes where packages come from, or which program runs them"));
        } else if lower.ends_with("_proxy") && lower != "no_proxy" && !self.is_own_host(value) {
            self.deny(Class::NetworkExfiltration, format!("{name} routes all connections through another machine"));
        } else if name == "PATH" {
            self.search_path(value);
        }
    }

    /// Judges folders that code is loaded from. Only the project's own folders are trusted.
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
            if !self.charge(folder.len() + 32) {
                return;
            }
            if !is_known(folder) {
                continue;
            }
            let place = if folder.is_empty() { Place::Inside } else { self.place(folder) };
            let base = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let own = BINARIES.contains(&base) && place != Place::Scratch || place == Place::System;
            if !own {
                let shown = if folder.is_empty() { "." } else { folder };
                self.unknown(format!("`PATH` would find programs in `{shown}`"));
            }
            self.scope.search.extend(self.resolved(folder));
        }
        self.scope.search.truncate(MAX_SEARCH);
    }
}
