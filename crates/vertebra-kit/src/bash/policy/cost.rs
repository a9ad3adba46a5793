//! What judging costs: steps in proportion to the length, little stack, and a limit on time.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use vertebra::{Clock, testing::FakeClock};

use super::{
    Decision, Ground,
    budget::{BASE, PER_BYTE},
    judge::{Judge, MAX_COMMANDS, follow},
    judge_by,
};

fn ground() -> Ground {
    Ground::new("/home/user/project", "/home/user")
}

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("{}rm -rf ~/x{}", open.repeat(depth), close.repeat(depth))
}

/// Shapes of commands that cost much once, at about this length.
fn shapes(length: usize) -> Vec<(&'static str, String)> {
    let filled = |part: &str| part.repeat(length / part.len());
    let numbered = |part: &dyn Fn(usize) -> String| (0..length / part(1000).len()).map(part).collect::<String>();
    let long = "x".repeat(length / 2);
    vec![
        ("words", filled("word ")),
        ("commands", filled("true; ")),
        ("lists", filled("true && ") + "true"),
        ("pipelines", filled("true | ") + "true"),
        ("pipelines of a long value", format!("x={long}; echo $x {}", "| cat ".repeat(length / 12))),
        ("unmatched braces", format!("echo {}", filled("{"))),
        ("nested braces", nested("{a,", "}", length / 4)),
        ("repeated braces", format!("echo {}", filled("{a,b}"))),
        ("ranges in braces", format!("echo {}", filled("{1..9} "))),
        ("braces as commands", filled("{rm,-rf,x};")),
        ("braces glued to braces", filled("{{a,b},{c,{d}}}{e")),
        ("assignments", numbered(&|at| format!("a{at}=b;"))),
        ("assignments of a long value", format!("x={long};{}", numbered(&|at| format!("a{at}=$x;")))),
        ("copies in subshells", format!("x={long};{}", filled("(y=$x$x);"))),
        ("doubled values", format!("x=abcd;{}", filled("x=$x$x;"))),
        ("substitutions", nested("$(", ")", length / 3)),
        ("quoted substitutions", nested("\"$(", ")\"", length / 5)),
        ("defaults", nested("${x:-", "}", length / 6)),
        ("arithmetic", nested("$((", "))", length / 5)),
        ("subshells", nested("( ", ")", length / 3)),
        ("groups", nested("{ ", ";}", length / 4)),
        ("backquotes", filled("`")),
        ("escaped backquotes", filled("\\`")),
        ("here-documents", filled("<<A ")),
        ("here-documents with bodies", filled("cat <<A\nx\nA\n")),
        ("a long here-document", format!("cat > x <<'A'\n{}\nA\n", filled("a line $(of) `text`\n"))),
        ("unmatched quotes", filled("'a\" ")),
        ("single quotes", filled("'")),
        ("loops", filled("for a in 1 2 3 4 5 6 7 8; do ") + ":" + &"; done".repeat(length / 29)),
        ("one loop after another", filled("for a in 1 2 3; do echo $a; done;")),
        ("while loops", filled("while read x; do x=1; done;")),
        ("conditions", nested("if :; then ", "; fi", length / 15)),
        ("cases", filled("case x in a) b;; esac;")),
        ("items of a case", format!("case x in {} esac", filled("a) b;;"))),
        ("functions", numbered(&|at| format!("f{at}() {{ f{at}; }};"))),
        ("functions that call functions", filled("f() { f; f; f; }; f;")),
        ("nested functions", nested("f() { ", "; }; f", length / 12)),
        ("evals", nested("eval '", "'", length / 7)),
        ("traps", filled("trap 'echo x' EXIT;")),
        ("aliases", numbered(&|at| format!("alias a{at}='echo x';"))),
        ("extended patterns", format!("echo {}", filled("@(a|b)"))),
        ("nested patterns", format!("echo {}", nested("@(a|", ")", length / 6))),
        ("tests", filled("[[ a =~ (b) ]] ;")),
        ("regular expressions", format!("[[ a =~ {} ]]", filled("(a"))),
        ("wrappers", format!("{}true", filled("nice "))),
        ("elevations", format!("{}true", filled("sudo "))),
        ("code", format!("python3 -c '{}'", filled("import os; system system "))),
        ("awk", format!("awk '{}'", filled("{system(\"x\")}"))),
        ("paths", format!("touch a; cat {}", filled("a/"))),
        ("links", numbered(&|at| format!("ln -s a{at} b{at};"))),
        ("files", numbered(&|at| format!("echo x > a{at};"))),
        ("appended files", filled("echo xxxx >> a;")),
        ("arrays", format!("a=({}); echo ${{a[@]}}", filled("x "))),
        ("arguments", format!("set -- {}; {}", "x ".repeat(length / 4), "shift; ".repeat(length / 14))),
        ("process substitutions", filled("cat <(cat x);")),
        ("redirections", format!("cat {}", filled(">a "))),
        ("comments", filled("# x\n")),
        ("continued lines", filled("true \\\n\\true;")),
        ("indirection", format!("a=b; echo {}", filled("${!a} "))),
        ("patterns on values", format!("x={}; {}", "a".repeat(1000), filled("echo ${x//*a*a*a*b/};"))),
        ("finds", format!("find . {}", filled("-exec rm {} ; "))),
        ("marks", filled("\u{10ffff}")),
    ]
}

fn judged<'g>(command: &str, ground: &'g Ground, clock: &'g dyn Clock) -> Judge<'g> {
    follow(command, ground, clock)
}

#[test]
fn the_work_grows_no_faster_than_the_command() {
    let (ground, clock) = (ground(), FakeClock::new());
    // What grows faster than the command is over any limit in proportion to it after two steps of this size.
    for length in [1024, 8 * 1024, 24 * 1024] {
        for (name, command) in shapes(length) {
            let judge = judged(&command, &ground, &clock);
            let (spent, limit) = (judge.budget.spent(), PER_BYTE * command.len() + BASE);
            // The step that goes over the limit is counted too.
            assert!(
                spent <= limit + 8 * command.len() + 64 * 1024,
                "{name}: {spent} steps for {} bytes",
                command.len()
            );
            if judge.budget.is_over() {
                assert_eq!(judge.worst(), Decision::Deny, "{name} of {} bytes", command.len());
            }
        }
    }
}

#[test]
fn deep_nesting_needs_little_stack() {
    let forms = [
        ("${x:-", "}"),
        ("\"${x:-", "}\""),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("`", "`"),
        ("{", "}"),
        ("{a,", "}"),
        ("{ ", ";}"),
        ("( ", ")"),
        ("$((", "))"),
        ("$[", "]"),
        ("((", "))"),
        ("${x[", "]}"),
        ("<(", ")"),
        ("a=(", ")"),
        ("@(a|", ")"),
        ("if :; then ", ";fi"),
        ("while :; do ", ";done"),
        ("f() { ", ";}"),
        ("case x in a) ", ";; esac"),
        ("! ", ""),
        ("sudo ", ""),
        ("env ", ""),
        ("eval ", ""),
        ("sh -c ", ""),
        ("find . -exec ", ""),
        ("x=$x ", ""),
    ];
    // The stack of every thread is larger than this.
    let size = 256 * 1024;
    for (open, close) in forms {
        for depth in [20, 100, 3000] {
            let command = nested(open, close, depth);
            let judging = move || judge_by(&FakeClock::new(), &command, &ground()).decision;
            let thread = thread::Builder::new().stack_size(size).spawn(judging).expect("a thread");
            let decision = thread.join().expect("no panic");
            assert_ne!(decision, Decision::Allow, "{depth} times {open:?} on {size} bytes of stack");
        }
    }
}

/// A clock that jumps whenever somebody looks at it.
struct Jumping(AtomicU64);

impl Clock for Jumping {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(100 * self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn sleep(&self, _: Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }
}

#[test]
fn a_judgement_that_takes_too_long_is_a_denial() {
    let command = "echo one; ".repeat(2000);
    let in_time = judge_by(&FakeClock::new(), "echo one", &ground());
    assert_eq!(in_time.decision, Decision::Allow);
    let late = judge_by(&Jumping(AtomicU64::new(0)), &command, &ground());
    assert_eq!(late.decision, Decision::Deny);
    assert_eq!(late.reason, "the command is too complex to judge; split it into simpler commands");
}

#[test]
fn size_and_depth_are_bounded_and_never_allowed() {
    let commands = [
        format!("{} rm -rf ~/x", "a".repeat(1 << 20)),
        format!("{}; rm -rf ~/x", "true;".repeat(10_000)),
        format!(":{}; rm -rf ~/x", " ".repeat(5000)),
        format!("{} rm -rf ~/x", "true &&".repeat(5000)),
        format!("{} rm -rf ~/x", "true |".repeat(5000)),
        nested("eval '", "'", 100),
        nested("sh -c \"", "\"", 100),
        nested("{a,", "}", 500),
        format!("{}; rm -rf ~/x", "f() { f; f; f; }; ".repeat(200)),
        format!(
            "for a in 1 2 3 4 5 6 7 8; do {} rm -rf ~/x{}; done",
            "for b in 1 2 3 4 5 6 7 8; do ".repeat(8),
            "; done".repeat(8)
        ),
        format!("{} $a300 -rf ~/x", (0..400).map(|n| format!("a{n}=rm")).collect::<Vec<_>>().join(";") + ";"),
        format!("x=a; {} rm -rf ~/$x", "x=$x$x$x$x;".repeat(50)),
        format!("rm -rf ~/{}", "{a,b}".repeat(60)),
        "`".repeat(5000) + "rm -rf ~/x",
        "<<A ".repeat(500) + "; rm -rf ~/x",
        "rm -rf ~/x \0 \u{10ffff}\u{feff}".to_owned(),
    ];
    let (ground, clock) = (ground(), FakeClock::new());
    for command in commands {
        let start = &command[..command.floor_char_boundary(60)];
        let judge = judged(&command, &ground, &clock);
        assert!(judge.commands <= 2 * MAX_COMMANDS, "{} commands for {start}", judge.commands);
        assert_ne!(judge.worst(), Decision::Allow, "{start}");
    }
}
