//! Classifies paths: inside the working folder, outside it, system files, devices.

use std::path::Path;

use super::{
    Class,
    expansion::glob,
    fields::Field,
    judge::Judge,
    scope::Made,
    value::{ENDLESS, REMOTE, SECRET, UNKNOWN, is_known, shown},
};
use crate::protected::{Protection, git::targets, holds_policy, is_protected, protection_below};

/// The place that a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The working folder's.
    Inside,
    /// Inside, but it makes something run later: configuration of git, agents, editors and other programs.
    Later,
    /// Temporary files, `/dev/null`.
    Scratch,
    /// A person's file that runs something later: start-up files, keys, timers.
    Persistent,
    /// Any other path outside the working folder.
    Outside,
    /// The system's.
    System,
    /// A disk, or the memory.
    Device,
    /// A connection to another machine, by `/dev/tcp`.
    Network,
    /// Not known before it runs.
    Unknown,
}

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// Made, or written.
    Create,
    /// Emptied, moved away or deleted.
    Destroy,
}

const SYSTEM: [&str; 18] = [
    "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/sys", "/proc", "/dev", "/var", "/opt",
    "/run", "/root", "/srv", "/mnt", "/snap",
];

/// Below the home folder: what starts with a session, a shell, a connection or a timer.
const PERSISTENT: [&str; 28] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".inputrc",
    ".xinitrc",
    ".xprofile",
    ".xsessionrc",
    ".vimrc",
    ".vim",
    ".emacs",
    ".gitconfig",
    ".npmrc",
    ".ssh",
    ".gnupg",
    ".config",
    ".local/bin",
    ".local/share/systemd",
    ".pam_environment",
    ".forward",
    ".claude",
];

/// Secret files and folders, below a home folder.
const SECRETS: [&str; 22] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".password-store",
    ".mozilla",
    ".config/google-chrome",
    ".bash_history",
    ".zsh_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".local/share/keyrings",
    ".vault-token",
];
const PUBLIC: [&str; 4] = ["known_hosts", ".pub", ".ssh/config", "authorized_keys"];
const SECRET_NAMES: [&str; 8] =
    ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".pem", ".p12", ".pfx", "credentials.json"];
const SECRET_FILES: [&str; 4] = ["/etc/shadow", "/etc/gshadow", "/proc/self/environ", "/etc/sudoers"];

pub(super) fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `scheme://…`, other than `file://…`.
fn has_scheme(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme != "file"
            && !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+')
    })
}

/// The path without `.`, `..`, doubled slashes and detours through `/proc`.
fn normalised(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    if let ["proc", _, "root", rest @ ..] = parts.as_slice() {
        return format!("/{}", rest.join("/"));
    }
    format!("/{}", parts.join("/"))
}

impl Judge<'_> {
    /// The absolute path, if it is known where it begins.
    pub(super) fn resolved(&self, text: &str) -> Option<String> {
        if text.starts_with('/') {
            return Some(self.scope.led(normalised(text)));
        }
        // A program may expand a tilde that the shell did not expand.
        if let Some(rest) = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Some(normalised(&format!("{}{rest}", self.ground.home)));
        }
        if text.starts_with([UNKNOWN, SECRET, REMOTE]) || text.is_empty() {
            return None;
        }
        let cwd = self.scope.cwd.path.as_ref()?;
        Some(self.scope.led(normalised(&format!("{cwd}/{text}"))))
    }

    pub(super) fn place(&self, text: &str) -> Place {
        let Some(path) = self.resolved(text) else { return Place::Unknown };
        if let Some(device) = path.strip_prefix("/dev/") {
            return self.device(&path, device);
        }
        let (folder, home) = (&self.ground.folder, &self.ground.home);
        // A working folder that is, or holds, the home folder: only what is named from within is the command's own.
        let spelled_out = text.starts_with(['/', '~']) || self.scope.cwd.absolute;
        let of_home = is_below(&path, home) && is_below(home, folder) && spelled_out;
        if is_below(&path, folder) && !of_home {
            let rest = path[folder.trim_end_matches('/').len()..].trim_start_matches('/');
            return match protection_below(folder.as_ref(), path.as_ref(), &|_| false) {
                // A folder of git may be made and removed, and whoever makes a `HEAD` is asked by the sandbox.
                Protection::Free | Protection::Kept | Protection::GitEntry | Protection::GitHead
                    if !rest.contains(".githooks/") =>
                {
                    Place::Inside
                }
                _ => Place::Later,
            };
        }
        if is_below(&path, home) {
            let rest = path[home.trim_end_matches('/').len()..].trim_start_matches('/');
            if self.ground.writable.iter().any(|folder| is_below(folder, home) && is_below(&path, folder)) {
                return Place::Scratch;
            }
            let is_persistent = PERSISTENT.iter().any(|name| is_below(rest, name)) || is_protected(rest);
            return if is_persistent { Place::Persistent } else { Place::Outside };
        }
        if self.ground.writable.iter().any(|folder| is_below(&path, folder)) {
            return Place::Scratch;
        }
        let cron = path.contains("/cron") || path.contains("/authorized_keys") || path.contains("/.bashrc");
        match () {
            () if cron => Place::Persistent,
            () if path == "/" || SYSTEM.iter().any(|folder| is_below(&path, folder)) => Place::System,
            () => Place::Outside,
        }
    }

    fn device(&self, path: &str, device: &str) -> Place {
        match device.split('/').next().unwrap_or_default() {
            "tcp" | "udp" if device.split('/').nth(1).is_some_and(|host| self.is_own_host(host)) => Place::Scratch,
            "tcp" | "udp" => Place::Network,
            "null" | "zero" | "full" | "stdin" | "stdout" | "stderr" | "tty" | "fd" | "random" | "urandom" | "ptmx" => {
                Place::Scratch
            }
            "shm" if self.ground.writable.iter().any(|folder| is_below(path, folder)) => Place::Scratch,
            _ => Place::Device,
        }
    }

    /// Judges a change to a path.
    pub(super) fn write(&mut self, target: &Field, verb: Verb) {
        let text = shown(&target.text);
        let destroys = verb == Verb::Destroy;
        // Programs that take the name of a file for their output often take these too.
        if let Some(command) = target.text.strip_prefix('|') {
            self.unknown("writes its output to a command");
            self.run_argument(command);
            return;
        }
        if has_scheme(&target.text) {
            self.send(&target.text, "", "writes its output to another machine");
            return;
        }
        let place = self.place(&target.text);
        if place == Place::Later {
            self.protected.extend(self.resolved(&target.text));
        }
        match place {
            Place::Inside | Place::Scratch => self.write_for_git(&target.text),
            Place::Later if self.holds_policy(&target.text) => {
                self.ask(Class::OwnPolicy, format!("changes {text}, by which an agent is told what it may do"));
            }
            Place::Later => {
                self.ask(Class::WriteOutside, format!("changes {text}, which can make programs run something later"));
            }
            Place::Persistent => {
                self.deny(Class::WriteOutside, format!("changes {text}, which programs run or trust later"));
            }
            Place::Outside if destroys => {
                self.deny(Class::WriteOutside, format!("changes or deletes {text}, outside the working folder"));
            }
            Place::Outside => self.ask(Class::WriteOutside, format!("writes to {text}, outside the working folder")),
            Place::System => {
                self.deny(Class::SystemDestruction, format!("changes {text}, which belongs to the system"));
            }
            Place::Device => self.deny(Class::SystemDestruction, format!("writes to the device {text}")),
            Place::Network => self.deny(Class::NetworkExfiltration, format!("writes to the network through {text}")),
            Place::Unknown => self.unknown("cannot tell which file this writes: the path is only known at run time"),
        }
    }

    /// Returns whether a path of the working folder is the policy of an agent, or the folder of one.
    pub(super) fn holds_policy(&self, text: &str) -> bool {
        let path = self.resolved(text).unwrap_or_default();
        path.strip_prefix(self.ground.folder.trim_end_matches('/'))
            .is_some_and(|rest| holds_policy(rest.trim_start_matches('/').as_ref()))
    }

    /// Judges a change to a path of the working folder that the configuration of git may name.
    pub(super) fn write_for_git(&mut self, text: &str) {
        self.change_for_git(text, false);
    }

    /// Judges files that appear below a path under names that nobody sees before.
    pub(super) fn write_any_below(&mut self, text: &str) {
        self.change_for_git(text, true);
    }

    fn change_for_git(&mut self, text: &str, any_below: bool) {
        let Some(path) = self.resolved(text) else { return };
        let folder = self.ground.folder.as_str();
        let found = |folder: &str| {
            let found = targets(Path::new(folder), &|name| std::env::var_os(name));
            found.into_iter().filter_map(|path| path.into_os_string().into_string().ok())
        };
        let executed = self.git.get_or_init(|| {
            // The shell reports its folder with links resolved.
            let real = Path::new(folder).canonicalize().ok().and_then(|real| real.into_os_string().into_string().ok());
            let real = real.filter(|real| real != folder);
            found(folder).chain(real.iter().flat_map(|real| found(real))).collect()
        });
        // Whoever replaces a folder replaces what is in it.
        let holds = |target: &String| is_below(target, &path) && (any_below || !is_below(folder, &path));
        if let Some(target) = executed.iter().find(|target| is_below(&path, target) || holds(target)) {
            let reason = if any_below {
                format!("may change {}, which git runs or takes settings from", shown(target))
            } else {
                format!("changes {}, which git runs or takes settings from", shown(text))
            };
            self.ask(Class::WriteOutside, reason);
        }
    }

    /// Returns the content of a path, as far as it is known.
    pub(super) fn read(&mut self, text: &str) -> String {
        let Some(path) = self.resolved(text) else {
            return if text.contains(SECRET) { SECRET.to_string() } else { UNKNOWN.to_string() };
        };
        match self.scope.made(&path) {
            Some(Made::Text(content)) => return content.clone(),
            Some(Made::Program(_)) => return UNKNOWN.to_string(),
            None => {}
        }
        match self.place(text) {
            Place::Network => {
                self.deny(Class::NetworkExfiltration, format!("opens a network connection through {text}"));
                REMOTE.to_string()
            }
            _ if self.is_secret(&path) => SECRET.to_string(),
            Place::Scratch if matches!(&*path, "/dev/zero" | "/dev/random" | "/dev/urandom") => ENDLESS.to_string(),
            Place::Device => {
                self.ask(Class::SecretRead, format!("reads the device {text}"));
                SECRET.to_string()
            }
            _ => UNKNOWN.to_string(),
        }
    }

    /// Returns whether a file is secret.
    pub(super) fn is_secret(&self, path: &str) -> bool {
        if PUBLIC.iter().any(|end| path.ends_with(end)) {
            return false;
        }
        let home = &self.ground.home;
        let below_home = is_below(path, home).then(|| path[home.trim_end_matches('/').len()..].trim_start_matches('/'));
        let of_someone = below_home
            .or_else(|| path.strip_prefix("/root").and_then(|rest| rest.strip_prefix('/')))
            .or_else(|| path.strip_prefix("/home/").and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest));
        let listed = of_someone.is_some_and(|rest| SECRETS.iter().any(|name| is_below(rest, name)));
        let named = SECRET_NAMES.iter().any(|name| path.ends_with(name));
        let environment = path.ends_with("/.env") || path.ends_with("/environ");
        listed || named || environment || SECRET_FILES.iter().any(|file| glob(path, file))
    }

    /// Returns whether a person must approve reading the file, even if nothing is sent anywhere.
    pub(super) fn is_private(&self, text: &str) -> bool {
        let Some(path) = self.resolved(text) else { return false };
        is_known(text) && self.is_secret(&path) && !is_below(&path, &self.ground.folder)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{Decision, Ground, judge};

    #[test]
    fn a_change_to_what_git_executes_in_the_folder_is_asked_about() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().canonicalize().expect("a path");
        let project = root.join("project");
        for folder in [".git/hooks", "ci/hooks", "tools", "src"] {
            fs::create_dir_all(project.join(folder)).expect("a folder");
        }
        for file in ["tools/clean", "tools/conv", "tools/watch", "tools/alias.sh", "more.inc", "src/a"] {
            fs::write(project.join(file), "").expect("a file");
        }
        fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        let config = "[core]\n\thooksPath = ci/hooks\n\tfsmonitor = tools/watch\n[include]\n\tpath = ../more.inc\n\
                      [filter \"x\"]\n\tclean = tools/clean %f\n[diff \"x\"]\n\ttextconv = ./tools/conv\n\
                      [alias]\n\tgo = \"!sh tools/alias.sh\"\n";
        fs::write(project.join(".git/config"), config).expect("a file");
        std::os::unix::fs::symlink(&project, root.join("link")).expect("a link");
        for folder in ["project", "link"] {
            let ground = Ground::new(root.join(folder).to_string_lossy(), "/home/me");
            for (command, expected) in [
                ("echo x > ci/hooks/pre-commit", Decision::Ask),
                ("echo x >> tools/watch", Decision::Ask),
                ("cp a more.inc", Decision::Ask),
                ("cp x/more.inc .", Decision::Ask),
                ("mv src/clean tools", Decision::Ask),
                ("sed -i s/a/b/ tools/conv", Decision::Ask),
                ("cd tools && tee alias.sh", Decision::Ask),
                ("ln -sf ../src/a ci/hooks/pre-push", Decision::Ask),
                ("mv ci ci2", Decision::Ask),
                // The names are in an archive, a commit or a patch.
                ("tar xf a.tar", Decision::Ask),
                ("cd src && tar -xzf a.tgz -C ..", Decision::Ask),
                ("unzip -o a.zip", Decision::Ask),
                ("cpio -i -F a", Decision::Ask),
                ("rsync -a x/ .", Decision::Ask),
                ("cp -r x/. .", Decision::Ask),
                ("patch -p1 -i a.diff", Decision::Ask),
                ("git pull", Decision::Ask),
                ("cd src && git merge other", Decision::Ask),
                ("git checkout other", Decision::Ask),
                ("git switch other", Decision::Ask),
                ("git checkout other -- ci", Decision::Ask),
                ("git restore -s other .", Decision::Ask),
                ("git stash pop", Decision::Ask),
                ("git apply a.diff", Decision::Ask),
                ("tar xf a.tar -C src", Decision::Allow),
                ("unzip -o a.zip -d src", Decision::Allow),
                ("tar cf /tmp/a.tar .", Decision::Allow),
                ("git checkout -b new", Decision::Allow),
                ("git switch -c new", Decision::Allow),
                ("git checkout -- src", Decision::Allow),
                ("git restore src/a", Decision::Allow),
                ("git stash", Decision::Allow),
                ("git fetch && git commit -am x", Decision::Allow),
                ("echo x > tools/other", Decision::Allow),
                ("cp x/a .", Decision::Allow),
                ("sh tools/alias.sh && cat ci/hooks/pre-commit > src/b", Decision::Allow),
            ] {
                let judgement = judge(command, &ground);
                assert_eq!(judgement.decision, expected, "{folder}: {command}: {}", judgement.reason);
            }
        }
    }
}
