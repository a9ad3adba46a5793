//! Shells: scripts in arguments, from standard input, from files.

use super::{
    super::{
        Class,
        fields::texts,
        invoke::Call,
        judge::{Judge, Origin},
        value::{REMOTE, UNKNOWN, is_known, known_part},
    },
    builtins::run_file,
};

pub(super) fn shell(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let args = texts(call.args());
    let mut at = 0;
    let mut reads_script = false;
    let mut from_input = false;
    while let Some(&arg) = args.get(at) {
        match arg {
            "--" | "-" => {
                at += 1;
                break;
            }
            "--rcfile" | "--init-file" => {
                if let Some(file) = args.get(at + 1) {
                    run_file(judge, file, &[]);
                }
                at += 2;
            }
            "-o" | "+o" | "-O" | "+O" => at += 2,
            _ if arg.starts_with("--") => {
                if let Some((_, file)) = arg.split_once("file=") {
                    run_file(judge, file, &[]);
                }
                at += 1;
            }
            _ if arg.starts_with(['-', '+']) && arg.len() > 1 => {
                reads_script |= arg.contains('c');
                from_input |= arg.contains('s');
                at += 1;
                if arg.ends_with('o') || arg.ends_with('O') {
                    at += 1;
                }
            }
            _ => break,
        }
    }
    let rest: Vec<String> = args.get(at..).unwrap_or_default().iter().map(|&text| text.to_owned()).collect();
    if reads_script {
        let Some((script, args)) = rest.split_first() else { return UNKNOWN.to_string() };
        return run(judge, call, script, args.first().map(String::as_str), args.get(1..).unwrap_or_default());
    }
    match rest.split_first() {
        Some((file, args)) if !from_input => {
            if file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0" {
                let text = call.input.clone().unwrap_or_else(|| UNKNOWN.to_string());
                return run(judge, call, &text, None, args);
            }
            if call.input.as_ref().is_some_and(|input| input.contains(REMOTE)) {
                judge.ask(Class::RemoteCode, "feeds downloaded data to a script");
            }
            run_file(judge, file, args);
            UNKNOWN.to_string()
        }
        _ => match call.input.clone() {
            Some(text) => run(judge, call, &text, None, &rest),
            None if args.iter().any(|arg| matches!(*arg, "--version" | "--help")) => UNKNOWN.to_string(),
            None => {
                judge.unknown("starts an interactive shell, whose input the policy cannot see");
                UNKNOWN.to_string()
            }
        },
    }
}

fn run(judge: &mut Judge<'_>, call: &Call<'_>, script: &str, zero: Option<&str>, args: &[String]) -> String {
    if script.contains(REMOTE) {
        judge.runs_download();
        return UNKNOWN.to_string();
    }
    if !is_known(script) {
        judge.unknown("runs a shell script whose text is only known at run time");
    }
    let known = known_part(script);
    judge.subshell(|judge| {
        judge.scope.args = args.to_vec().into();
        if let Some(zero) = zero {
            zero.clone_into(&mut judge.scope.zero);
        }
        judge.script(&known, &Origin::Within(judge.at.clone()), call.input)
    })
}
