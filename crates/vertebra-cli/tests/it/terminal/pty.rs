//! A person at a real terminal: the program runs on a pseudo-terminal, an emulator draws what they would see.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};
use serde_json::{Value, json};

/// Nothing takes so long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder to work in, and a home apart from it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = || tempfile::Builder::new().prefix("vertebra-it-").tempdir().expect("a folder");
        Self { folder: folder(), home: folder() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    /// The user's settings.
    pub(crate) fn settings(&self, text: &str) {
        let folder = self.home.path().join(".config/vertebra");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("vertebra.toml"), text).expect("a file");
    }

    /// What the user's settings say now.
    pub(crate) fn own_settings(&self) -> String {
        fs::read_to_string(self.home.path().join(".config/vertebra/vertebra.toml")).unwrap_or_default()
    }

    /// A pipe with a name: whoever opens one end waits for the other.
    pub(crate) fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).expect("a fifo");
        path
    }

    /// The command on a model that plays these turns.
    pub(crate) fn command(&self, command: &str, turns: &[Value], options: &[&str]) -> Command {
        let script = self.home.path().join("script.jsonl");
        let text: String = turns.iter().map(|turn| turn.to_string() + "\n").collect();
        fs::write(&script, text).expect("a script");
        self.command_on(command, &format!("script:{}", script.display()), options)
    }

    /// The command on a model of this name.
    pub(crate) fn command_on(&self, command: &str, model: &str, options: &[&str]) -> Command {
        let mut words = Command::new(env!("CARGO_BIN_EXE_vertebra"));
        words.arg(command).arg(format!("--model={model}")).args(options);
        words.env_clear().envs([("PATH", env_path()), ("LANG", "C.UTF-8".into()), ("TERM", "xterm-256color".into())]);
        words.env("HOME", self.home.path()).current_dir(self.folder.path());
        words
    }

    /// Somebody starts the command at a terminal of 80 columns and 30 rows.
    pub(crate) fn sits(&self, command: &str, turns: &[Value], options: &[&str]) -> Person {
        Person::sit(&self.command(command, turns, options))
    }

    /// What is said of this place, without its names and without time.
    pub(crate) fn anywhere(&self, text: &str) -> String {
        let text = text.replace(&self.folder.path().display().to_string(), "[folder]");
        let text = text.replace(&self.home.path().display().to_string(), "[home]");
        // What turns while it works stands still.
        without_names(&without_times(&text.replace(|c| "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(c), "⠋")))
    }
}

fn env_path() -> String {
    std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into())
}

/// `resume 0197a3b2c4d5` becomes `resume [name]`.
fn without_names(text: &str) -> String {
    let is_name = |name: &str| name.len() == 12 && name.chars().all(|c| c.is_ascii_hexdigit());
    let line = |line: &str| match line.rsplit_once("resume ") {
        Some((before, name)) if is_name(name) => format!("{before}resume [name]"),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// `0.3 s` and `1 min 02 s` become `[time]`.
fn without_times(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut told: Vec<String> = Vec::new();
    for word in words {
        let ends = word.strip_prefix('s').filter(|rest| !rest.starts_with(char::is_alphabetic));
        let number = told.last().is_some_and(|last| {
            let digits = last.rsplit(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
            !digits.is_empty() && digits.starts_with(|c: char| c.is_ascii_digit())
        });
        match (ends, number, told.last_mut()) {
            (Some(rest), true, Some(last)) => {
                let kept = last.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
                last.truncate(kept);
                last.push_str("[time]");
                last.push_str(rest);
            }
            _ => told.push(word.to_owned()),
        }
    }
    told.join(" ")
}

/// Calls and answers, shorter.
pub(crate) fn say(text: &str) -> Value {
    json!({ "say": text })
}

pub(crate) fn bash(command: &str) -> Value {
    json!({ "call": { "tool": "bash", "args": { "command": command } } })
}

/// Somebody at a terminal.
pub(crate) struct Person {
    keyboard: File,
    terminal: File,
    program: Child,
    seen: Arc<Seen>,
}

struct Seen {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    screen: vt100::Parser,
    bytes: Vec<u8>,
    /// Whether the terminal is in the middle of something that it was asked to show at once.
    drawing: bool,
}

impl Seen {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Person {
    /// Starts the command on a terminal that belongs to it, as a shell would.
    pub(crate) fn sit(command: &Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("ours");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("text");
        let terminal = File::options().read(true).write(true).open(name).expect("a terminal");
        let keyboard = File::from(master);
        let state = State { screen: vt100::Parser::new(30, 80, 500), bytes: Vec::new(), drawing: false };
        let seen = Arc::new(Seen { state: Mutex::new(state), changed: Condvar::new() });
        tcsetwinsize(&keyboard, size(80, 30)).expect("a size");
        let end = || terminal.try_clone().expect("a descriptor");
        let mut owning = Command::new("setsid");
        owning.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        owning.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        owning.current_dir(command.get_current_dir().expect("a folder"));
        let program = owning.stdin(end()).stdout(end()).stderr(end()).spawn().expect("the command starts");
        let (mut screen, watching) = (keyboard.try_clone().expect("a descriptor"), seen.clone());
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // The end of a terminal is an error.
            while let Ok(count @ 1..) = screen.read(&mut piece) {
                let mut state = watching.state();
                state.bytes.extend_from_slice(&piece[..count]);
                state.screen.process(&piece[..count]);
                let last = |order: &[u8]| state.bytes.windows(order.len()).rposition(|bytes| bytes == order);
                state.drawing = last(b"\x1b[?2026h") > last(b"\x1b[?2026l");
                drop(state);
                watching.changed.notify_all();
            }
        });
        Self { keyboard, terminal, program, seen }
    }

    /// Types.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("a terminal takes keys");
    }

    /// What is on the screen.
    pub(crate) fn sees(&self) -> String {
        self.watches("a whole screen", |_| true);
        self.seen.state().screen.screen().contents()
    }

    /// The row and the column of the cursor.
    pub(crate) fn cursor(&self) -> (u16, u16) {
        self.seen.state().screen.screen().cursor_position()
    }

    /// Waits until the words stand somewhere, and keys are answers to the question.
    pub(crate) fn is_asked(&self) {
        self.waits_for("y yes");
    }

    /// The process.
    pub(crate) fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.program)
    }

    /// All that was ever written to the terminal.
    pub(crate) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.seen.state().bytes).into_owned()
    }

    /// Waits until the screen shows this.
    pub(crate) fn waits_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        self.watches(what, |screen| holds(&screen.contents()));
    }

    fn watches(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let until = Instant::now() + PATIENCE;
        let mut state = self.seen.state();
        while state.drawing || !holds(state.screen.screen()) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what}: never seen. The screen:\n{}", state.screen.screen().contents());
            state = self.seen.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for words on the screen.
    pub(crate) fn waits_for(&self, words: &str) {
        self.waits_until(words, |shown| shown.contains(words));
    }

    /// Makes the window another size. What was wrapped is wrapped anew, as most terminals do it.
    pub(crate) fn resizes(&mut self, columns: u16, rows: u16) {
        let mut state = self.seen.state();
        state.screen = reflowed(state.screen.screen(), columns, rows);
        drop(state);
        tcsetwinsize(&self.keyboard, size(columns, rows)).expect("a size");
    }

    /// Whether keys come as lines, with an echo, and Ctrl-C as a signal.
    pub(crate) fn has_a_raw_terminal(&self) -> bool {
        let modes = tcgetattr(&self.terminal).expect("modes").local_modes;
        !modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// The terminal is as a shell expects it: lines, echo, a cursor, no marks around what is pasted.
    pub(crate) fn has_a_sane_terminal(&self) {
        assert!(!self.has_a_raw_terminal());
        // The last bytes may still be on their way.
        self.watches("a sane terminal", |screen| !screen.hide_cursor() && !screen.bracketed_paste());
    }

    /// Waits for the program to end, and answers with its exit code.
    pub(crate) fn waits_for_the_end(&mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        // A process that ends closes its ends of the terminal; ours stays open, so it is asked for.
        loop {
            if let Some(status) = self.program.try_wait().expect("a child") {
                self.sees_the_rest();
                return status.code().expect("it was not killed");
            }
            assert!(Instant::now() < until, "it does not end. The screen:\n{}", self.sees());
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}

impl Person {
    /// Waits for what is still on its way: a sign that no terminal shows comes after it.
    fn sees_the_rest(&mut self) {
        self.terminal.write_all(&[0]).expect("a terminal");
        let until = Instant::now() + PATIENCE;
        let mut state = self.seen.state();
        while state.bytes.last() != Some(&0) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the terminal does not come to its end");
            state = self.seen.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.bytes.pop();
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The screen as a terminal of another size shows it: lines that were wrapped are whole again, and wrapped where they
/// end now; the cursor stays with its letter.
fn reflowed(screen: &vt100::Screen, columns: u16, rows: u16) -> vt100::Parser {
    let (row, column) = screen.cursor_position();
    let mut text = String::new();
    let (mut below, mut along) = (0, 0);
    for (number, line) in (0..).zip(screen.rows(0, screen.size().1)).take(usize::from(row) + 1) {
        text.push_str(&line);
        let begins_anew = number == 0 || !screen.row_wrapped(number - 1);
        along = if begins_anew { 0 } else { along + screen.size().1 };
        if number < row && !screen.row_wrapped(number) {
            text.push_str("\r\n");
        }
        below = number;
    }
    let after: Vec<String> = screen.rows(0, screen.size().1).skip(usize::from(below) + 1).collect();
    let after = after.join("\r\n");
    let mut next = vt100::Parser::new(rows, columns, 500);
    // The cursor is put where its line begins, then along the line.
    next.process(text.as_bytes());
    let last = text.rsplit("\r\n").next().unwrap_or_default();
    let cells = u16::try_from(unicode_width::UnicodeWidthStr::width(last)).expect("a short line");
    let (at, wanted) = (next.screen().cursor_position().0 - cells.saturating_sub(1) / columns, along + column);
    next.process(format!("\r\n{}", after.trim_end()).as_bytes());
    next.process(format!("\x1b[{};{}H", at + wanted / columns + 1, wanted % columns + 1).as_bytes());
    if screen.hide_cursor() {
        next.process(b"\x1b[?25l");
    }
    if screen.bracketed_paste() {
        next.process(b"\x1b[?2004h");
    }
    next
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }
}
