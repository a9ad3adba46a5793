//! What people do all day goes on in the sandbox.

use super::*;

/// The real home, where toolchains live; all else as in every area.
pub(super) fn at_home() -> Area {
    let area = Area::new();
    let home = std::env::var("HOME").expect("a home folder");
    let environment = area.bash.environment.clone().set("HOME", home);
    area.with(|bash| bash.environment = environment)
}

/// What people do all day.
const WORK: &[&str] = &[
    "git init -q repo && cd repo && git config user.email a@b.c && git config user.name a && echo x > f && git add f && git commit -qm x && git log --oneline | wc -l",
    "python3 -c 'import json, subprocess, tempfile, multiprocessing, threading; print(json.dumps([1]))'",
    "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"'",
    "python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0))'",
    "printf 'int main(void) { return 7; }' > a.c && gcc a.c -o program; ./program; [ $? = 7 ]",
    "cargo --version && rustc --version",
    "f=$(mktemp) && echo x > $f && cat $f && d=$(mktemp -d) && mv $f $d/ && rm -r $d",
    "seq 5 | tee copy | wc -l && diff <(cat copy) <(seq 5)",
    "sleep 0.1 & wait $! && echo waited",
    "cat <<END > doc\nhere\nEND\ngrep here doc && sed -i s/here/there/ doc && grep there doc",
    "mkdir -p a/b && echo x > a/b/f && mv a/b/f a/ && cp -r a c && ln a/f hard && ln -s a/f soft && cat soft && rm -r a c",
    "chmod +x doc; find . -type f | sort | head; tar czf t.tgz . --exclude t.tgz; tar tzf t.tgz > /dev/null",
    "echo x > /dev/null; head -c 4 /dev/urandom > /dev/null; echo to stderr > /dev/stderr; cat < /dev/zero | head -c 1",
    "kill -0 $$ && (sleep 100 & kill $!; wait)",
    "ps aux > /dev/null; id; uname -a; date; whoami; ls /usr /etc > /dev/null",
    "mkfifo p; echo x > p & cat p",
    "timeout 5 bash -c 'echo in time'",
    "exec 9> lock && flock 9 && echo locked",
];

#[tokio::test]
async fn ordinary_work_goes_on() {
    works_in(&at_home()).await;
}

pub(super) async fn works_in(area: &Area) {
    for (command, result) in WORK.iter().zip(area.commands(WORK).await) {
        assert_eq!(result.exit_code, Some(0), "{command}\n{}", result.output);
    }
}

#[tokio::test]
async fn exit_codes_and_signals_pass_through() {
    let results = Area::new().commands(&["exit 42", "kill -TERM $$", "nosuchprogram", "kill -SEGV $$"]).await;
    let codes: Vec<_> = results.iter().map(|result| result.exit_code).collect();
    assert_eq!(codes, [Some(42), Some(143), Some(127), Some(139)]);
}

#[tokio::test]
async fn named_folders_can_be_written() {
    let area = Area::new();
    let outside = area.path("outside");
    let area = area.with(|bash| bash.sandbox.write.extend([outside, "~/cache".into()]));
    fs::create_dir(area.path("home/cache")).expect("a new folder");
    let result = area.bash("echo x > ../outside/new && echo x > ~/cache/new && mv ../outside/new ~/cache/moved").await;
    assert_eq!(result.exit_code, Some(0), "{}", result.output);
}

#[tokio::test]
async fn copies_with_all_attributes_work_without_a_word_where_attributes_cannot_be_set() {
    let copies = "mkdir -p h/d && echo x > h/f && chmod 640 h/f && ln -s f h/l && cp -a h h2 && install -m 755 h/f h3 && \
                  tar cf h.tar h && mkdir h4 && tar xpf h.tar -C h4 && git init -q r && cp -a r r2 && mv h4 h5 && \
                  python3 -c 'import shutil; shutil.copytree(\"h\", \"h6\", symlinks=True); shutil.copy2(\"h/f\", \"h7\")'";
    let rsync = "if command -v rsync > /dev/null; then rsync -a h/ h8/; fi";
    for result in Area::new().commands(&[copies, rsync, "test $(stat -c %a h2/f h5/h/f h6/f h7 | sort -u) = 640"]).await
    {
        assert_eq!((result.exit_code, &*result.output), (Some(0), "(no output)"));
    }
}
