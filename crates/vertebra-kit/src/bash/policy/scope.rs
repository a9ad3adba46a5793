//! The known state of the shell: variables, functions, aliases, the folder, files just written.

use std::rc::Rc;

use rpds::{RedBlackTreeMap as Map, RedBlackTreeSet as Set};

use super::value::UNKNOWN;

/// More variables, functions or files than this are not followed.
const MAX_NAMES: usize = 256;
const MAX_ELEMENTS: usize = 256;
/// No system has a longer path.
const MAX_PATH: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Var {
    pub(super) values: Vec<String>,
    /// Values are evaluated as arithmetic when assigned.
    pub(super) integer: bool,
}

/// A file that the command itself made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// With this text, which may be unknown or from another machine.
    Text(String),
    /// A copy of, or a link to, an installed program.
    Program(String),
}

/// The current folder of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cwd {
    /// Absolute, or unknown.
    pub(super) path: Option<String>,
    /// The command went there by an absolute path.
    pub(super) absolute: bool,
}

/// Cloning a scope shares all of it: subshells and branches are many, and what they change is little.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) vars: Map<String, Var>,
    pub(super) functions: Map<String, Rc<str>>,
    /// Functions that programs started from the shell see too.
    pub(super) exported: Set<String>,
    pub(super) aliases: Map<String, String>,
    pub(super) made: Map<String, Made>,
    /// Links that the command made, and where they lead.
    pub(super) links: Map<String, String>,
    /// Folders that were put into `PATH`.
    pub(super) search: Vec<String>,
    /// `$1`, `$2`, …
    pub(super) args: Rc<Vec<String>>,
    pub(super) cwd: Cwd,
    /// What `$0` is.
    pub(super) zero: String,
    /// Descriptors opened on another machine.
    pub(super) remote_fds: Set<String>,
    /// Names given to repositories of others.
    pub(super) remotes: Set<String>,
    /// Something did not fit.
    pub(super) overflown: bool,
}

impl Scope {
    pub(super) fn new(folder: &str, home: &str) -> Self {
        let mut scope = Self {
            vars: Map::new(),
            functions: Map::new(),
            exported: Set::new(),
            aliases: Map::new(),
            made: Map::new(),
            links: Map::new(),
            search: Vec::new(),
            args: Rc::default(),
            cwd: Cwd { path: Some(folder.to_owned()), absolute: false },
            zero: "bash".to_owned(),
            remote_fds: Set::new(),
            remotes: Set::new(),
            overflown: false,
        };
        for (name, value) in [
            ("HOME", home),
            ("IFS", " \t\n"),
            ("TMPDIR", "/tmp"),
            ("SHELL", "/bin/bash"),
            ("BASH", "/bin/bash"),
            // Where an earlier command of the same shell came from is not known.
            ("OLDPWD", &UNKNOWN.to_string()),
            // The parent of the shell: killing it would kill everything.
            ("PPID", "1"),
        ] {
            scope.set(name, value.to_owned());
        }
        scope
    }

    pub(super) fn get(&self, name: &str) -> Option<String> {
        match name {
            "PWD" => Some(self.cwd.path.clone().unwrap_or_else(|| UNKNOWN.to_string())),
            "0" => Some(self.zero.clone()),
            "#" => Some(self.args.len().to_string()),
            "@" | "*" => Some(self.args.join(" ")),
            "?" | "$" | "!" | "-" | "_" => Some(UNKNOWN.to_string()),
            _ => match name.parse::<usize>() {
                Ok(number) => Some(self.args.get(number.wrapping_sub(1)).cloned().unwrap_or_default()),
                Err(_) => self.vars.get(name).map(|var| var.values.first().cloned().unwrap_or_default()),
            },
        }
    }

    pub(super) fn elements(&self, name: &str) -> Option<Vec<String>> {
        match name {
            "@" | "*" => Some(self.args.to_vec()),
            _ => self.vars.get(name).map(|var| var.values.clone()),
        }
    }

    pub(super) fn set(&mut self, name: &str, value: String) {
        self.set_all(name, vec![value]);
    }

    pub(super) fn set_all(&mut self, name: &str, mut values: Vec<String>) {
        if values.len() > MAX_ELEMENTS || (self.vars.size() >= MAX_NAMES && !self.vars.contains_key(name)) {
            self.overflown = true;
            values.truncate(MAX_ELEMENTS);
            if self.vars.size() >= MAX_NAMES {
                return;
            }
        }
        let integer = self.vars.get(name).is_some_and(|var| var.integer);
        self.vars.insert_mut(name.to_owned(), Var { values, integer });
    }

    pub(super) fn set_element(&mut self, name: &str, at: usize, value: String) {
        let mut values = self.elements(name).unwrap_or_default();
        if at >= MAX_ELEMENTS {
            self.overflown = true;
            return;
        }
        if at >= values.len() {
            values.resize(at + 1, String::new());
        }
        values[at] = value;
        self.set_all(name, values);
    }

    pub(super) fn define(&mut self, name: &str, body: &str) {
        if self.functions.size() >= MAX_NAMES {
            self.overflown = true;
            return;
        }
        self.functions.insert_mut(name.to_owned(), body.into());
    }

    pub(super) fn make(&mut self, path: String, made: Made) {
        if self.made.size() >= MAX_NAMES {
            self.overflown = true;
            return;
        }
        self.made.insert_mut(path, made);
    }

    pub(super) fn link(&mut self, path: String, to: String) {
        if self.links.size() >= MAX_NAMES {
            self.overflown = true;
            return;
        }
        self.links.insert_mut(path, to);
    }

    /// Where a path leads that goes through a link. The link itself is where it is.
    pub(super) fn led(&self, path: String) -> String {
        let through = self.links.iter().find_map(|(link, to)| Some((to, path.strip_prefix(link)?)));
        match through {
            Some((to, rest)) if rest.starts_with('/') => format!("{to}{rest}"),
            _ => path,
        }
    }

    /// The file, or the folder that it is in, if the command made it.
    pub(super) fn made(&self, path: &str) -> Option<&Made> {
        if self.made.is_empty() || path.len() > MAX_PATH {
            return None;
        }
        let mut path = path;
        loop {
            if let Some(made) = self.made.get(path) {
                return Some(made);
            }
            path = path.rsplit_once('/')?.0;
        }
    }

    /// Back from a subshell: files stay, and so does what did not fit.
    pub(super) fn leave_subshell(&mut self, outer: Self) {
        let inner = std::mem::replace(self, outer);
        self.made = inner.made;
        self.links = inner.links;
        self.overflown |= inner.overflown;
    }

    /// After something that may or may not have run: what differs is unknown.
    ///
    /// A variable that was not set before keeps its new value; the other possibility is that it is empty.
    pub(super) fn join(&mut self, before: &Self, outside: impl Fn(&Cwd) -> bool) {
        if !self.vars.ptr_eq(&before.vars) {
            for (name, old) in &before.vars {
                let now = self.vars.get(name);
                let same = now.is_some_and(|now| std::ptr::eq(now, old) || now.values == old.values);
                if !same {
                    let integer = now.is_some_and(|now| now.integer);
                    self.vars.insert_mut(name.clone(), Var { values: vec![UNKNOWN.to_string()], integer });
                }
            }
        }
        if self.cwd != before.cwd && outside(&before.cwd) && !outside(&self.cwd) {
            self.cwd = before.cwd.clone();
        }
    }
}
