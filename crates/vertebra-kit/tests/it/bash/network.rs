//! The private network of a session, and what is said about what the sandbox refused.

use std::net::{TcpListener, UdpSocket};

use vertebra_kit::{
    bash::sandbox::Engine,
    permissions::{Permissions, RuleTexts},
};

use super::{bubblewrap::refusing, *};

fn says(result: &ToolResult, remark: &str) {
    assert!(result.output.contains(&format!("[{remark}")), "{remark}\n{}", result.output);
    let told = result.data["blocked"].as_array().expect("a list");
    assert!(told.iter().any(|told| told.as_str().is_some_and(|told| told.starts_with(remark))), "{told:?}");
}

#[tokio::test]
async fn a_command_listens_and_connects_on_its_loopback_interface() {
    let code = "import socket
for family, address in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    server = socket.socket(family); server.bind((address, 0)); server.listen()
    client = socket.create_connection(server.getsockname()[:2])
    there, _ = server.accept(); there.send(b'hello'); assert client.recv(5) == b'hello'
    one, two = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    two.bind((address, 0)); one.sendto(b'x', two.getsockname()[:2]); assert two.recv(1) == b'x'
print('connected')";
    let result = Area::new().bash(&python(code)).await;
    assert_eq!((&*result.output, result.exit_code), ("connected", Some(0)));
}

#[tokio::test]
async fn the_commands_of_a_session_share_one_network_and_sessions_do_not() {
    let area = Area::new();
    let network = "readlink /proc/self/ns/net";
    let results = area.commands(&[network, network]).await;
    let other = area.bash(network).await;
    let machine = fs::read_link("/proc/self/ns/net").expect("a namespace").display().to_string();
    assert_eq!(results[0].output, results[1].output);
    assert!(results[0].output.starts_with("net:[") && results[0].output != machine, "{}", results[0].output);
    assert_ne!(results[0].output, other.output);
}

#[tokio::test]
async fn the_loopback_interface_of_the_machine_is_out_of_reach_and_the_result_says_so() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).expect("a setting");
    let port = server.local_addr().expect("an address").port();
    for command in ["exec 3<>/dev/tcp/127.0.0.1/{}", "(exec 3<>/dev/tcp/127.0.0.1/{}) 2>&1 | head -1"] {
        let result = Area::new().bash(&command.replace("{}", &port.to_string())).await;
        says(&result, &format!("the sandbox blocked port {port} of this machine: "));
    }
    assert!(server.accept().is_err());
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_no_matter_of_the_sandbox() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let result = Area::new().bash(&format!("exec 3<>/dev/tcp/127.0.0.1/{free}")).await;
    assert!(result.output.contains("refused") && !result.output.contains("sandbox"), "{}", result.output);
}

#[tokio::test]
async fn an_address_that_the_sandbox_refuses_is_named() {
    // Nothing leaves the private network, so nobody is bothered.
    let result = Area::new().bash("exec 3<>/dev/tcp/192.0.2.1/443").await;
    assert_eq!(result.exit_code, Some(1));
    says(&result, "the sandbox blocked network access to 192.0.2.1:443; ask for `network` in `needs`");
    let fine = Area::new().bash("python3 -c '__import__(\"socket\").socket().connect_ex((\"192.0.2.1\", 443))'").await;
    assert_eq!(fine.output, "(no output)", "a program that did without it");
    let piped = Area::new().bash("(exec 3<>/dev/tcp/192.0.2.1/443) 2>&1 | tail -1").await;
    assert_eq!(piped.exit_code, Some(0));
    says(&piped, "the sandbox blocked network access to 192.0.2.1:443");
    let datagram = "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))";
    says(&Area::new().bash(&python(datagram)).await, "the sandbox blocked network access to 192.0.2.1:9");
}

#[tokio::test]
async fn a_datagram_does_not_leave_the_private_network() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).expect("a setting");
    let address = server.local_addr().expect("an address");
    let send = format!("echo x > /dev/udp/127.0.0.1/{}", address.port());
    Area::new().bash(&send).await;
    assert!(server.recv(&mut [0]).is_err());
    Area::new().bare().bash(&send).await;
    assert_eq!(server.recv(&mut [0; 8]).expect("a datagram"), 2);
}

#[tokio::test]
async fn a_protected_name_that_the_sandbox_refuses_is_named_if_the_command_failed_or_complains() {
    let area = Area::new();
    says(&area.bash("echo x > .envrc").await, "the sandbox blocked a change of .envrc, which is protected");
    says(&area.bash("mkdir -p sub/.vscode").await, "the sandbox blocked a change of sub/.vscode, which is protected");
    let git = "git init -q r && cd r && git config core.fsmonitor ./x";
    says(&area.bash(git).await, "the sandbox blocked a change of r/.git/config, which is protected");
    // What stays closed is not worth another question.
    let husky = area.bash("mkdir .husky && echo x > .husky/pre-commit").await;
    says(&husky, "the sandbox blocked a change of .husky, which is protected; with `HUSKY=0` in its environment");
    says(
        &area.bash("echo x > vertebra.toml").await,
        "the sandbox blocked a change of vertebra.toml, which is protected; it stays closed",
    );
    // The exit code says only how the last part ended.
    let hidden = area.bash("mkdir .vscode 2>&1 | tail -5; echo y > fine").await;
    says(&hidden, "the sandbox blocked a change of .vscode, which is protected");
    let beside = area.bash("mkdir .husky; echo x > .npmrc").await;
    says(&beside, "the sandbox blocked a change of .npmrc, which is protected; ask for `write`");
    // Nobody takes a copy for whole that is not, and nobody for cut short that is not.
    let made = "mkdir -p ../tmp/a/.vscode ../tmp/a/z && echo x > ../tmp/a/.vscode/s && echo x > ../tmp/a/z/f && cd ../tmp && \
        tar cf a.tar a";
    assert_eq!(area.bash(made).await.exit_code, Some(0));
    for (copies, program) in [("cp -r ../tmp/a copy; ls copy/z", "cp"), ("tar xf ../tmp/a.tar && echo; ls a/z", "tar")]
    {
        let copied = area.bash(copies).await;
        let remark = format!("which is protected: `{program}` left it out and went on with the rest; ask for `write`");
        assert!(copied.output.starts_with("f\n") && copied.output.contains(&remark), "{}", copied.output);
    }
    // Programs try much that they do not need.
    let fine = area.bash("(echo x > .envrc) 2>/dev/null; echo y > fine").await;
    assert!(!fine.output.contains("[the sandbox"), "{}", fine.output);
}

#[tokio::test]
async fn settings_of_npm_that_are_hidden_with_its_tokens_are_named() {
    let area = Area::new();
    assert!(!area.bash("true || npm install").await.output.contains("npmrc"));
    let settings = "//r.example/:_authToken=s3cr3t\n_auth=s3cr3t\n@corp:registry=https://r.example/\nsave-exact=true\n";
    fs::write(area.path("home/.npmrc"), settings).expect("a file");
    let told = area.bash("true || npm install").await;
    assert!(!area.bash("true || npm test; true || npx tsc").await.output.contains("npmrc"));
    let remark =
        "[the sandbox hides ~/.npmrc from commands, so these settings do not apply: @corp:registry, save-exact;";
    assert!(told.output.contains(remark), "{}", told.output);
    assert!(!told.output.contains("s3cr3t"), "{}", told.output);
    fs::write(area.path("home/.npmrc"), "//r.example/:_authToken=s3cr3t\n").expect("a file");
    assert!(!area.bash("true || npm install").await.output.contains("npmrc"));
}

#[tokio::test]
async fn a_path_outside_that_the_sandbox_refuses_is_named() {
    let area = Area::new();
    let outside = real(&area.path("outside"));
    for change in ["echo x > {}/new", "echo x >> {}/precious", "mkdir {}/new", "rm {}/precious", "ln -s x {}/new"] {
        let result = area.bash(&change.replace("{}", &outside)).await;
        says(&result, &format!("the sandbox blocked a change of {outside}/"));
    }
}

#[tokio::test]
async fn a_program_that_does_without_its_folder_in_the_home_folder_needs_no_grant() {
    let area = Area::new();
    fs::create_dir_all(area.path("home")).expect("a folder");
    let result = area.bash("mkdir ~/.gunicorn; echo serves").await;
    let advice = "home/.gunicorn, outside of the writable folders; most programs do without such a folder";
    assert!(result.output.contains(advice), "{}", result.output);
    let result = area.bash("mkdir ~/reports").await;
    let advice = "home/reports, outside of the writable folders; ask for `write` in `needs`";
    assert!(result.output.contains(advice), "{}", result.output);
}

#[tokio::test]
async fn a_path_that_the_user_may_not_change_anyway_is_no_matter_of_the_sandbox() {
    let result = Area::new().bash("echo x > /proc/version; echo x > /dev/full; false").await;
    assert!(!result.output.contains("[the sandbox"), "{}", result.output);
}

#[tokio::test]
async fn a_system_call_that_the_sandbox_refuses_is_named() {
    let code = "import ctypes, sys\nsys.exit(ctypes.CDLL(None).unshare(0x10000000) == -1)";
    says(&Area::new().bash(&python(code)).await, "the sandbox blocked the system call `unshare`");
}

#[tokio::test]
async fn a_system_call_that_a_program_did_without_is_not_named() {
    // The check of types fails, and not the call.
    let code = "import ctypes, sys\nctypes.CDLL(None).unshare(0x10000000)\nprint('a.ts(1): error TS2591')\nsys.exit(2)";
    let result = Area::new().bash(&python(code)).await;
    assert_eq!(result.exit_code, Some(2), "{}", result.output);
    assert!(!result.output.contains("[the sandbox"), "{}", result.output);
    let complains = code.replace("error TS2591", "Operation not permitted");
    says(&Area::new().bash(&python(&complains)).await, "the sandbox blocked the system call `unshare`");
}

#[tokio::test]
async fn a_name_in_a_remark_cannot_draw_on_a_terminal() {
    let result = Area::new().bash("mkdir .vscode$'\\e[2J\\n'x; mkdir -p .claude/$'a\\e[2J\\nb'").await;
    says(&result, "the sandbox blocked a change of .claude");
    assert!(!result.output.contains('\u{1b}'), "{}", result.output);
}

#[tokio::test]
async fn without_network_namespaces_the_loopback_interface_is_closed_and_the_result_says_so() {
    refusing(&[libc::SYS_unshare, libc::SYS_setns], libc::EPERM);
    let area = Area::new().with(|bash| bash.sandbox.engine = Engine::Own);
    let code = "import socket\nsocket.socket(socket.AF_INET).bind(('127.0.0.1', 0))";
    let result = area.bash(&python(code)).await;
    assert!(result.output.contains("PermissionError"), "{}", result.output);
    says(&result, "the sandbox blocked network access, the loopback interface included (no network namespace: ");
}

#[tokio::test]
async fn a_file_that_its_owner_made_read_only_stays_so() {
    let result = Area::new().bash("echo x > f; chmod 444 f; echo y > f; cat f; id -u").await;
    let expected = if rustix::process::geteuid().is_root() { "y\n0" } else { "x\n" };
    assert!(result.output.contains(expected), "{}", result.output);
}

#[tokio::test]
async fn a_hidden_file_that_a_failed_command_speaks_of_is_named_with_the_rule() {
    let area = Area::new().with(|bash| bash.sandbox.deny_read.push("secret".into()));
    fs::create_dir(area.path("work/secret")).expect("a folder");
    fs::write(area.path("work/secret/key"), "hunter2").expect("a file");
    says(&area.bash("cat secret/key").await, "the sandbox hides secret from commands: `deny_read` lists secret");
    says(&area.bash("cat ~/.ssh/id").await, "the sandbox hides ~/.ssh from commands: `deny_read` lists ~/.ssh");
    let home = real(&area.path("home"));
    for list in ["ls -a ~", "cd .. && cd work; ls ../home", "python3 -c \"import os; os.listdir('../home')\""] {
        says(
            &area.bash(list).await,
            &format!("the sandbox lets no command list {home}, because it hides {home}/.ssh;"),
        );
    }
    let unseen = "import os\nopen(os.path.join('secret', 'k' + 'ey'))";
    says(&area.bash(&python(unseen)).await, "the sandbox hides secret from commands");
    for other in ["cat secretary", "echo secret", "cat /no/secret"] {
        let result = area.bash(other).await;
        assert!(!result.output.contains("the sandbox hides"), "{other}: {}", result.output);
    }
    let bare = area.bare().bash("cat secret/key; cat secret/none").await;
    assert!(!bare.output.contains("the sandbox hides"), "{}", bare.output);
}

#[tokio::test]
async fn a_file_that_a_rule_hides_is_named_with_the_rule() {
    let area = Area::new();
    fs::write(area.path("work/.env"), "TOKEN=hunter2").expect("a file");
    let rules =
        RuleTexts { deny: vec!["Read(.env)".to_owned()], allow: vec!["Bash".to_owned()], ..RuleTexts::default() };
    let command = "cat $(printf .e%s nv)";
    let (mut builder, results) =
        area.agent(Script::new().call("bash", &json!({ "command": command }).to_string()).say("done"));
    builder.with(Permissions::bypassing_questions().texts("a test", &rules).expect("rules"));
    run(&built(&mut builder), "go").await;
    let result = results.lock().expect("no panic").remove(0);
    assert!(!result.output.contains("hunter2"), "{}", result.output);
    says(&result, "the sandbox hides .env from commands: rule Read(.env)");
}

#[tokio::test]
async fn a_unix_socket_that_is_refused_is_named() {
    let area = Area::new();
    let path = area.path("outside/docker.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    let code = format!("import socket; socket.socket(socket.AF_UNIX).connect('{}')", path.display());
    let named = format!("the sandbox closes Unix sockets such as {}", real(&path));
    says(&area.bash(&python(&code)).await, &named);
    // Not if nobody connects, or nobody listens.
    for command in [&*format!("ls {}; false", path.display()), &python(&code.replace("docker", "none"))] {
        let fine = area.bash(command).await;
        assert!(!fine.output.contains("the sandbox closes"), "{}", fine.output);
    }
}
