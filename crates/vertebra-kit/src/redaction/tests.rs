//! What is found and what is not, and that a stream shows what the whole text would become, however it is cut.

use proptest::{prelude::*, strategy::Strategy as Generates};

use super::{
    Redaction, Sensitive, Strategy, Text,
    kinds::is_configuration,
    redactor::{More, Redactor},
};

fn everything() -> Redaction {
    let all = Redaction::default().personal().on(Sensitive::Phone, Strategy::Redact);
    let own = all.pattern("ticket", r"TICKET-[0-9]{4,}").and_then(|all| all.value("DEPLOY", "correct horse battery"));
    own.expect("a pattern and a value")
}

fn redactor(redaction: &Redaction) -> Redactor {
    redaction.redactor((true, true))
}

/// Of each kind one, with what becomes of it. The values are made up.
const SAMPLES: &[(&str, &str)] = &[
    ("id AKIAIOSFODNN7EXAMPLE.", "id [REDACTED:aws-key]."),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[REDACTED:github-token]"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "[REDACTED:github-token]"),
    ("glpat-abcdefghij0123456789", "[REDACTED:gitlab-token]"),
    ("xoxb-123456789012-abcdefghijkl", "[REDACTED:slack-token]"),
    ("https://hooks.slack.com/services/T00000000/B0000/XXXXXX", "https://[REDACTED:slack-token]"),
    ("sk_live_abcdefghijklmnop1234", "[REDACTED:stripe-key]"),
    ("sk-ant-api03-abcdefghijklmnopqrstuv", "[REDACTED:anthropic-key]"),
    ("sk-proj-abcdefghijklmnopqrstuv", "[REDACTED:openai-key]"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[REDACTED:google-key]"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "[REDACTED:npm-token]"),
    ("pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAwAAAA", "[REDACTED:pypi-token]"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN", "[REDACTED:jwt]"),
    ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [REDACTED:authorization]"),
    ("authorization: basic dXNlcjpwYXNz", "authorization: basic [REDACTED:authorization]"),
    (r#"let password = "hunter2";"#, r#"let password = "[REDACTED:password]";"#),
    (r#"let password = "ann correct horse battery""#, r#"let password = "ann [REDACTED:DEPLOY]""#),
    (r#"password: "correct-horse-battery""#, r#"password: "[REDACTED:password]""#),
    ("UID=sa;PWD=Sup3r;", "UID=sa;PWD=[REDACTED:password];"),
    (r#"api_key: "test-abcdef0123456789""#, r#"api_key: "[REDACTED:secret]""#),
    ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[REDACTED:password] psql"),
    (r#"{"password": "hunter2"}"#, r#"{"password": "[REDACTED:password]"}"#),
    ("aws_secret_access_key = wJalrXUtnFEMI7K7MDENGbPxRfi", "aws_secret_access_key = [REDACTED:secret]"),
    ("postgres://app:s3cret@db/x", "postgres://app:[REDACTED:url-password]@db/x"),
    ("ann@example.org wrote", "[REDACTED:email] wrote"),
    ("card 4111 1111 1111 1111!", "card [REDACTED:credit-card]!"),
    ("DE89 3704 0044 0532 0130 00", "[REDACTED:iban]"),
    ("from 192.168.17.4 to", "from [REDACTED:ip-address] to"),
    ("at 2001:db8::ff00:42:8329 now", "at [REDACTED:ip-address] now"),
    ("nic 00:1b:44:11:3a:b7 up", "nic [REDACTED:mac-address] up"),
    ("call +49 170 123 4567 soon", "call [REDACTED:phone] soon"),
    ("see TICKET-20261 again", "see [REDACTED:ticket] again"),
    ("it is correct horse battery staple", "it is [REDACTED:DEPLOY] staple"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890abcdef\nQIDAQAB\n-----END RSA PRIVATE KEY-----\nend",
        "[REDACTED:private-key]\nend",
    ),
    ("-----BEGIN PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA1234567890abcdef", "[REDACTED:private-key]"),
];

#[test]
fn of_each_kind_one_is_found() {
    let redactor = redactor(&everything());
    for (text, expected) in SAMPLES {
        assert_eq!(redactor.whole(text).expect("nothing is blocked"), *expected);
    }
}

#[test]
fn what_only_looks_alike_is_left_alone() {
    let redactor = redactor(&everything().off(Sensitive::Phone));
    for text in [
        "let password: String = read_password()?;",
        "let password = \"correct-horse-battery\";",
        "static TEST_PASSWORD: &str = 'swordfish';",
        "PWD=/home/me/project OLDPWD=/home/me",
        "connect(user=user, password=get_password(), passwd=args.passwd, password=password)",
        "password = get_password()\ntoken: str\npassword: Optional[str]\nsecret: Secret = make()",
        "token_key = 'auth_token_v2'",
        "let token = parse_token_from(header);",
        "monkey: banana; the secret is out; a key point",
        "xAKIAIOSFODNN7EXAMPLE and AKIAIOSFODNN7EXAMPLEX",
        "4111 1111 1111 1112",
        "version 1.2.3.4.5000, std::net::Ipv6Addr, a::b, 12:30:45",
        "https://example.org:8080/path and user@localhost",
        "password=[REDACTED:password]&token=${TOKEN}",
        "task-ant-1 risk-free sk-short",
        "It begins with -----BEGIN CERTIFICATE----- and so on",
    ] {
        assert_eq!(redactor.whole(text).expect("nothing is blocked"), text);
    }
}

#[test]
fn an_unquoted_secret_is_hidden_in_configuration_and_what_refers_to_one_is_not() {
    let redactor = Redaction::default().redactor_of((true, true), Text::Configuration);
    for (text, expected) in [
        ("[db]\npassword = hunter2\nuser = ann\n", "[db]\npassword = [REDACTED:password]\nuser = ann\n"),
        ("db:\n  password: correct horse # mine\n", "db:\n  password: [REDACTED:password] # mine\n"),
        ("spring.datasource.password=swordfish\r\n", "spring.datasource.password=[REDACTED:password]\r\n"),
        (
            "export AUTH_TOKEN=abc\nCLIENT_SECRET=x-y\n",
            "export AUTH_TOKEN=[REDACTED:password]\nCLIENT_SECRET=[REDACTED:password]\n",
        ),
        ("api-key: letmein\npassword: \"quoted\"", "api-key: [REDACTED:password]\npassword: \"[REDACTED:password]\""),
    ] {
        assert_eq!(redactor.whole(text).expect("nothing is blocked"), expected);
    }
    for text in [
        "password: ${DB_PASSWORD}\npassword = $PASSWORD\ntoken: {{ token }}\n",
        "password: !vault |\ntoken: null\nsecret: true\npassword: string\n",
        "token: /run/secrets/token\npassword: https://example.org/reset\nsecret: vault:db\n",
        "password: *anchor\nsecretName: app-tls\nmax_tokens: 4096\ntoken_type: bearer\nPWD=/home/me\n",
        "password:\n  type: string\npassword = get_password()\npassword: [REDACTED:password#abc123]\n",
    ] {
        assert_eq!(redactor.whole(text).expect("nothing is blocked"), text);
    }
    for name in ["app.ini", "/etc/my.cnf", "config/database.yml", ".env", "prod.env", ".env.local", ".aws/credentials"]
    {
        assert!(is_configuration(name), "{name}");
    }
    for name in ["a.py", "token.rs", "environment.ts", "yml", "README.md", "config.py"] {
        assert!(!is_configuration(name), "{name}");
    }
}

#[test]
fn what_is_found_may_be_masked_hashed_or_refused() {
    let card = "card 4111 1111 1111 1111";
    let with = |strategy| redactor(&Redaction::default().hash_key([7; 32]).on(Sensitive::CreditCard, strategy));
    assert_eq!(with(Strategy::Mask).whole(card).expect("masked"), "card ****1111");
    let hashed = with(Strategy::Hash).whole(card).expect("hashed").into_owned();
    assert!(hashed.starts_with("card [REDACTED:credit-card:") && hashed == with(Strategy::Hash).veil(card));
    assert_ne!(hashed, redactor(&Redaction::default().on(Sensitive::CreditCard, Strategy::Hash)).veil(card));
    assert_eq!(with(Strategy::Block).whole(card).expect_err("refused").as_ref(), "credit-card");
    assert_eq!(with(Strategy::Block).veil(card), "card [REDACTED:credit-card]");
    let short = redactor(&Redaction::default().on(Sensitive::Password, Strategy::Mask));
    assert_eq!(short.veil("password=hunter2"), "password=****");
}

#[test]
fn a_pattern_that_would_hold_a_stream_back_for_ever_is_refused_with_what_to_write_instead() {
    let error = |pattern: &str| Redaction::default().pattern("mine", pattern).expect_err(pattern).to_string();
    assert!(error("[a-z]+@[a-z]+").contains("bound the others"), "{}", error("[a-z]+@[a-z]+"));
    assert!(error(r"\bid[0-9]{4}").contains("leave out"));
    assert!(error("[0-9]*").contains("at least one character"));
    assert!(error("(").contains("not a regular expression"));
    assert!(Redaction::default().value("short", "12345").is_err());
    for fine in ["[a-z]{1,20}@[a-z]+", "E-[0-9]{6}", "(?:ab|c{2,})", "tok_(?:[a-z0-9]{4})+"] {
        assert!(Redaction::default().pattern("mine", fine).is_ok(), "{fine}");
    }
}

#[test]
fn a_hostile_text_is_searched_once_and_not_again_and_again() {
    let redactor = redactor(&everything());
    let configuration = everything().redactor_of((true, true), Text::Configuration);
    for part in [
        "key=",
        "token=secret=",
        "password=$",
        "password=a(",
        "password: a:// ",
        "password: *a\n",
        "xeyJaaaaaaaa-",
        "eyJaaaaaaaa",
        "4111 1111 1111 1112 ",
        "a@b.",
        "://a:b",
        "-----BEGIN PRIVATE KEY-----",
        "1.2.3.4.5",
    ] {
        // Searched again from each of its beginnings, one of these would take minutes.
        redactor.veil(&part.repeat(100_000 / part.len()));
        configuration.veil(&part.repeat(100_000 / part.len()));
    }
}

/// What is shown of a text that comes in pieces, after each of them.
fn streamed(redactor: &Redactor, pieces: &[&str]) -> Vec<String> {
    let (mut shown, mut kept, mut states) = (String::new(), String::new(), Vec::new());
    for (index, piece) in pieces.iter().enumerate() {
        kept.push_str(piece);
        let more = if index + 1 == pieces.len() { More::No } else { More::MayCome };
        let redacted = redactor.piece(shown.chars().next_back(), &kept, more);
        shown.push_str(&redacted.text);
        kept.drain(..redacted.open);
        states.push(shown.clone());
    }
    states
}

#[track_caller]
fn check_stream(redactor: &Redactor, pieces: &[&str]) {
    let whole = pieces.concat();
    let expected = redactor.veil(&whole);
    let states = streamed(redactor, pieces);
    assert_eq!(states.last().map_or("", |last| last), expected, "{pieces:?}");
    for shown in &states {
        assert!(expected.starts_with(shown), "{shown:?} was shown of {expected:?}");
    }
}

#[test]
fn a_secret_cut_at_any_place_is_never_shown() {
    let redactor = redactor(&everything());
    for (text, _) in SAMPLES {
        for (cut, _) in text.char_indices() {
            check_stream(&redactor, &[&text[..cut], &text[cut..]]);
        }
        let letters: Vec<&str> = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
        check_stream(&redactor, &letters);
    }
}

#[test]
fn plain_text_is_kept_back_by_a_word_at_most() {
    let redactor = redactor(&Redaction::default());
    let text = "The quick brown fox jumps over the lazy dog, and then it sleeps. ".repeat(3);
    let mut longest = 0;
    for (cut, _) in text.char_indices() {
        longest = longest.max(cut - redactor.piece(None, &text[..cut], More::MayCome).open);
    }
    assert!(longest <= 6, "{longest} bytes were kept back");
}

fn fragment() -> impl Generates<Value = String> {
    let sample = (0..SAMPLES.len()).prop_map(|index| SAMPLES[index].0.to_owned());
    prop_oneof![
        3 => sample,
        2 => "[a-zA-Z0-9 =:@./_\"'-]{0,12}",
        1 => "[ \\n€ß日]{1,3}",
        1 => Just("key=".to_owned()),
        1 => Just("----".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_shows_what_the_whole_becomes_however_it_is_cut(
        fragments in prop::collection::vec(fragment(), 1..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        thread_local!(static ALL: Redactor = redactor(&everything()));
        let text = fragments.concat();
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| places[cut.index(places.len())]).chain([0, text.len()]).collect();
        cuts.sort_unstable();
        let pieces: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        ALL.with(|all| check_stream(all, &pieces));
    }

    #[test]
    fn what_was_redacted_once_stays_as_it_is(fragments in prop::collection::vec(fragment(), 1..6)) {
        thread_local!(static SECRETS: Redactor = redactor(&Redaction::default()));
        SECRETS.with(|secrets| {
            let once = secrets.veil(&fragments.join(" ")).into_owned();
            assert_eq!(secrets.veil(&once), once);
        });
    }
}
