//! Lines to compare readers with. All programs in them are stubs.

use proptest::prelude::*;

/// How many stub programs there are: `p0`, `p1`, …
pub(crate) const STUBS: usize = 6;

/// Programs of the system that lines use, all of which run what they are given.
pub(crate) const SYSTEM: &[&str] = &["bash", "env", "find", "nice", "nohup", "sh", "timeout", "xargs"];

/// Pieces that valid and invalid lines are made of.
const PIECES: &[&str] = &[
    "p0",
    "p1 a",
    "p2",
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "(",
    ")",
    "{ ",
    "; }",
    "$(",
    "`",
    "'",
    "\"",
    "\\",
    "$",
    "${",
    "}",
    "<(",
    ">o",
    "<<E\n",
    "E\n",
    "\nE\n",
    "if ",
    "; then ",
    "; fi",
    "for i in ",
    "; do ",
    "; done",
    "case a in ",
    ";; ",
    "esac",
    "a)",
    "*)",
    "!",
    "#",
    " #",
    "[[ ",
    " ]]",
    "((",
    "))",
    "x=",
    "x+=(",
    "$'",
    "\\x70",
    "eval ",
    "sh -c ",
    "f() ",
    "<<<",
    "$x",
    "function f ",
    "time ",
    "{p3,a}",
    "command ",
    "2>&1",
    "&",
    "-",
    "=",
    "[",
    "]",
    "~",
    "\t",
    "in",
    "do",
    "@(",
    "$((",
    "1+1",
];

/// Any text of these pieces.
pub(crate) fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 1..14).prop_map(|parts| parts.concat())
}

/// A valid line, and the same with one byte taken away, doubled or put in.
pub(crate) fn nearly_valid() -> impl Strategy<Value = String> {
    let change = (0..3_usize, any::<prop::sample::Index>(), prop::sample::select(&b"'\"();|&<>{}$`\\ \n#"[..]));
    (list(), change).prop_map(|(line, (kind, at, byte))| {
        let mut bytes = line.into_bytes();
        let at = at.index(bytes.len());
        match kind {
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, bytes[at]),
            _ => bytes.insert(at, byte),
        }
        String::from_utf8(bytes).expect("ASCII")
    })
}

/// A valid line.
pub(crate) fn list() -> BoxedStrategy<String> {
    simple(Just("$(p0 inner)".to_owned()).boxed()).prop_recursive(4, 24, 3, |inner| compound(inner.boxed())).boxed()
}

/// A name of a stub, however it is written.
fn program() -> BoxedStrategy<String> {
    (0..STUBS, 0..8_usize)
        .prop_map(|(number, kind)| match kind {
            0 => format!("'p{number}'"),
            1 => format!("\"p{number}\""),
            2 => format!("\\p{number}"),
            3 => format!("p''{number}"),
            4 => format!("$'\\x70{number}'"),
            5 => format!("p\\\n{number}"),
            _ => format!("p{number}"),
        })
        .boxed()
}

fn word(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let plain = prop::sample::select(vec![
        "a",
        "'b c'",
        "\"d e\"",
        "\"$X\"",
        "$X",
        "{a,b}",
        "x*y",
        "~",
        "$((1 + 2))",
        "${X:-z}",
        "'$(p5)'",
        "\\;",
        "a#b",
        "-x",
        "--y=z",
        "=",
        "''",
        "a=b",
        "[",
        "]",
        "{}",
        "!",
        "if",
        "\"a\\\"b\"",
        "'a\"b'",
        "$'a\\'b'",
        "a\\ b",
        "${#X}",
        "$?",
        "%1",
        "\"`p1 quoted`\"",
        "`p2`",
        "<(p3)",
        "{1..3}",
        "@",
        "\"${X:-'}'}\"",
        "a'b'\"c\"d",
    ]);
    prop_oneof![
        6 => plain.prop_map(str::to_owned),
        1 => inner.clone().prop_map(|inner| format!("\"$({inner})\"")),
        1 => inner.clone().prop_map(|inner| format!("$( {inner})")),
        1 => inner.prop_map(|inner| format!("\"${{X:-$( {inner})}}\"")),
    ]
    .boxed()
}

fn simple(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let assigned = prop::sample::select(vec!["", "", "", "A=1 ", "A='x y' B= ", "A=$(p4) ", "A+=z ", "A=~ "]);
    let redirect =
        prop::sample::select(vec!["", "", "", " >o", " 2>&1", " </dev/null", " >>o", " <<<'p5 x'", " &>o", " 2> o"]);
    (assigned, program(), prop::collection::vec(word(inner), 0..4), redirect)
        .prop_map(|(assigned, program, words, redirect)| format!("{assigned}{program}{redirect} {}", words.join(" ")))
        .boxed()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn compound(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let two = (inner.clone(), inner.clone(), 0..9_usize).prop_map(|(one, other, kind)| match kind {
        0 => format!("{one}; {other}"),
        1 => format!("{one} && {other}"),
        2 => format!("{one} || {other}"),
        3 => format!("{one} | {other}"),
        4 => format!("{one} & {other}"),
        5 => format!("{one}\n{other}"),
        6 => format!("if {one}; then {other}; else p1; fi"),
        7 => format!("while {one}; do {other}; break; done"),
        _ => format!("case x in y|z) {one};; (x) {other};; esac"),
    });
    let one = (inner.clone(), 0..18_usize).prop_map(|(one, kind)| match kind {
        0 => format!("({one})"),
        1 => format!("{{ {one}; }}"),
        2 => format!("! {one}"),
        3 => format!("for i in a $(p0); do {one}; done"),
        4 => format!("f() {{ {one}; }}; f"),
        5 => format!("p1 <<E\n$({one})\n'\nE\n"),
        6 => format!("p1 <<'E'\n$(p5) ' \"\nE\n{one}"),
        7 => format!("eval {}", quoted(&one)),
        8 => format!("sh -c {} x", quoted(&one.replace("<(p3)", "").replace("&>o", ">o"))),
        9 => format!("bash -ec {}", quoted(&one)),
        10 => format!("[[ -n $({one}) || a < b ]]; p2"),
        11 => format!("(( 1 + 1 )) && {one}"),
        12 => format!("{one} # it's a comment; p5"),
        13 => format!("x=(a \"$({one})\"); p3"),
        14 => format!("time -p {one}"),
        15 => format!("until ! {one}; do p4; done"),
        16 => format!("bash -s <<'E'\n{one}\nE\n"),
        _ => format!("p0 <(cat </dev/null; {one})"),
    });
    let wrapped = (simple(inner.clone()), 0..9_usize).prop_map(|(simple, kind)| {
        // An assignment behind a wrapper would be its argument.
        let simple = if simple.starts_with('A') { "p0 b" } else { &simple };
        match kind {
            0 => format!("env -u Y A=b {simple}"),
            1 => format!("command {simple}"),
            2 => format!("timeout -k 5 5 {simple}"),
            3 => format!("nice -n 5 {simple}"),
            4 => format!("nohup {simple}"),
            5 => format!("xargs -n 1 {simple} </dev/null"),
            6 => "find . -maxdepth 0 -exec p1 {} a \\; -exec p2 {} +".to_owned(),
            7 => format!("builtin command -p -- {simple}"),
            _ => format!("env -S 'A=b p3 x' {simple}"),
        }
    });
    prop_oneof![4 => two, 5 => one, 2 => wrapped, 3 => simple(inner)].boxed()
}
