//! `vertebra serve`: whom it would let in is settled before it listens.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::Machine;

fn machine() -> Machine {
    let machine = Machine::new();
    let modes = [("token", "0123456789abcdef", 0o600), ("open", "0123456789abcdef", 0o644), ("short", "123", 0o600)];
    for (name, token, mode) in modes {
        machine.write(&format!("project/{name}"), token);
        let path = machine.path("project").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    machine
}

#[test]
fn a_server_without_authentication_or_encryption_does_not_start() {
    let machine = machine();
    let cases: [(&[&str], &str); 10] = [
        (&["--listen", "tcp://127.0.0.1:0"], "would accept any client: add `--token-file FILE`"),
        (&["--listen", "tcp://127.0.0.1:0", "--token-file", "open"], "open: others may read it: `chmod 640 open`"),
        (&["--listen", "tcp://127.0.0.1:0", "--token-file", "short"], "short, line 1: a token has 16 to 1024 letters"),
        (&["--listen", "tcp://127.0.0.1:0", "--token-file", "none"], "none: No such file"),
        (&["--listen", "tcp://0.0.0.0:0", "--token-file", "token"], "can be reached from other machines"),
        (
            &["--listen", "tcp://127.0.0.1:0", "--token-file", "token", "--allow-user", "1"],
            "--allow-user needs a Unix socket",
        ),
        (&["--allow-user", "nobody-of-this-name"], "no such user"),
        (&["--tls-cert", "token", "--tls-key", "token"], "cannot be used"),
        (&["--metrics", "tcp://0.0.0.0:0"], "other machines could read the metrics"),
        (&["--listen", "127.0.0.1:7777"], "invalid address `127.0.0.1:7777`: write `tcp://127.0.0.1:7777`"),
    ];
    for (arguments, expected) in cases {
        let arguments = [&["serve"], arguments].concat();
        let told = machine.runs(&arguments);
        assert!(told.err.contains(expected), "{arguments:?}: {}", told.err);
        assert!(!told.out.contains("listening"), "{arguments:?}: {}", told.out);
    }
}
