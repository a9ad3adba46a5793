//! The processes of this machine, as a test looks at them.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// Nothing takes so long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);

/// The processes that were started with exactly these words, and have not ended.
pub(crate) fn running(words: &str) -> Vec<i32> {
    all().filter(|pid| command_line(*pid) == words).collect()
}

/// The processes that this one has started.
pub(crate) fn children(of: u32) -> Vec<i32> {
    let parent = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    all().filter(|pid| parent(*pid) == Some(of)).collect()
}

/// Waits until something runs with these words, or until nothing does.
pub(crate) fn waits_for(words: &str, some: bool) -> Vec<i32> {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = running(words);
        if found.is_empty() != some {
            return found;
        }
        assert!(Instant::now() < until, "{words}: {found:?}");
        thread::park_timeout(Duration::from_millis(10));
    }
}

/// Sends a signal.
pub(crate) fn signal(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).expect("a process"), signal);
}

/// Ends what a test that fails would leave behind.
pub(crate) struct Gone(pub(crate) i32);

impl Drop for Gone {
    fn drop(&mut self) {
        signal(self.0, Signal::KILL);
    }
}

/// A number of seconds that no other sleeper has.
pub(crate) fn a_long_time() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
    format!("9{}.{}", std::process::id(), now.subsec_nanos())
}

fn all() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").expect("processes").flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The words of a command, empty for one that has ended.
fn command_line(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " ")
}
