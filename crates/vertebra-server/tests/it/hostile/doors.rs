//! Who comes in, as whom, and what they see.

use tonic::{
    Code,
    transport::{Certificate, Channel, ClientTlsConfig, Identity},
};
use vertebra_server::{
    door::Door,
    proto::{
        CreateSessionRequest, GetSessionRequest, ListSessionsRequest, Register, Scope, client_frame::Frame as Said,
        hooks_client::HooksClient, scope, server_frame::Frame, sessions_client::SessionsClient,
    },
};

use super::world::{Bearer, Client, Papers, World, guard, known, limits, soon};

#[tokio::test]
async fn without_a_token_or_with_another_nobody_comes_in() {
    let world = World::new(limits()).await;
    let list = ListSessionsRequest::default();
    let none = SessionsClient::new(world.channel().await).list(list.clone()).await.expect_err("it has no token");
    assert_eq!(none.code(), Code::Unauthenticated);
    assert!(none.message().contains("authorization: Bearer"), "{none}");
    for wrong in ["", "a-token-of-some-lengtH", "a-token-of-some-length-and-more", "a-token-of-some-lengt"] {
        let mut client = SessionsClient::with_interceptor(world.channel().await, Bearer(wrong));
        let status = client.list(list.clone()).await.expect_err("it is another token");
        assert_eq!(status.code(), Code::Unauthenticated, "{wrong}");
    }
    let mut hooks = HooksClient::new(world.channel().await);
    let status = hooks.attach(futures_util::stream::pending()).await.expect_err("nor as a client with hooks");
    assert_eq!(status.code(), Code::Unauthenticated);
    world.serves().await;
}

#[tokio::test]
async fn a_client_with_a_name_sees_and_governs_its_own_unless_the_file_says_everything() {
    let papers = Papers::new();
    let known = known(
        &papers,
        "[[client]]\nname = \"ci\"\ntoken = \"the-token-of-ci-long\"\n\
         [[client]]\nname = \"bot\"\ntoken = \"the-token-of-bot-long\"\n\
         [[client]]\nname = \"ops\"\ntoken = \"the-token-of-ops-long\"\ngoverns = \"everything\"\n",
    );
    let world = World::behind(&[], limits(), Door::Token(known), None).await;
    let sessions = async |token| SessionsClient::with_interceptor(world.channel().await, Bearer(token));
    let (mut ci, mut bot) = (sessions("the-token-of-ci-long").await, sessions("the-token-of-bot-long").await);
    let opened = ci.create(CreateSessionRequest::default()).await.expect("a session").into_inner();
    assert_eq!(opened.owner, "ci");
    let get = GetSessionRequest { session_id: opened.id };
    let hidden = bot.get(get.clone()).await.expect_err("it is not the bot's");
    assert_eq!(hidden.code(), Code::NotFound, "it does not even learn that there is one");
    assert!(bot.list(ListSessionsRequest::default()).await.expect("a list").into_inner().sessions.is_empty());
    let mut ops = sessions("the-token-of-ops-long").await;
    assert_eq!(ops.get(get).await.expect("it sees everything").into_inner().owner, "ci");

    let hooks = HooksClient::with_interceptor(world.channel().await, Bearer("the-token-of-bot-long"));
    let mut client = Client::attach(hooks, "c").await.expect("it is let in");
    assert_eq!(client.principal, "bot");
    let everything = Scope { which: Some(scope::Which::Everything(scope::Everything {})) };
    client.send(Said::Register(Register { request: 1, hook: Some(guard("g")), scope: Some(everything) })).await;
    let Ok(Frame::Registered(refused)) = client.frame().await else { panic!("it is answered") };
    assert_eq!(refused.error, "`bot` governs its own sessions and no others");
}

async fn connect(world: &World, tls: ClientTlsConfig) -> Result<Channel, tonic::transport::Error> {
    let to = format!("https://localhost:{}", world.address.port());
    let to = Channel::from_shared(to).expect("an address").tls_config(tls.domain_name("localhost")).expect("it fits");
    soon(to.connect()).await
}

#[tokio::test]
async fn over_tls_a_client_that_believes_the_server_comes_in_with_its_token_and_plain_ones_do_not() {
    let papers = Papers::new();
    let known = known(&papers, "[[client]]\nname = \"ci\"\ntoken = \"the-token-of-ci-long\"\n");
    let world = World::behind(&[], limits(), Door::Token(known), Some(papers.tls(None))).await;
    let believing = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(papers.believed()));
    let channel = connect(&world, believing).await.expect("a connection");
    let hooks = HooksClient::with_interceptor(channel, Bearer("the-token-of-ci-long"));
    assert_eq!(Client::attach(hooks, "c").await.expect("it is let in").principal, "ci");
    let strangers = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(Papers::new().believed()));
    connect(&world, strangers).await.expect_err("the client does not believe the server");
    let plain = Channel::from_shared(format!("http://{}", world.address)).expect("an address").connect().await;
    if let Ok(plain) = plain {
        let mut sessions = SessionsClient::with_interceptor(plain, Bearer("the-token-of-ci-long"));
        soon(sessions.list(ListSessionsRequest::default())).await.expect_err("nothing is told in the clear");
    }
}

/// Who a client with these papers is taken for.
async fn taken_for(world: &World, papers: &Papers, identity: Option<(String, String)>) -> Result<String, String> {
    let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(papers.believed()));
    if let Some((certificate, key)) = identity {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    let channel = connect(world, tls).await.map_err(|error| error.to_string())?;
    let client = soon(Client::attach(HooksClient::with_interceptor(channel, Bearer("of no use")), "c")).await;
    client.map(|client| client.principal).map_err(|status| status.to_string())
}

#[tokio::test]
async fn a_certificate_says_who_comes_and_one_that_nobody_signed_or_none_is_refused() {
    let papers = Papers::new();
    let known = known(&papers, "[[client]]\nname = \"ops\"\ncertificate = \"ops.example\"\ngoverns = \"everything\"\n");
    let tls = papers.tls(Some(&papers.believed()));
    let world = World::behind(&[], limits(), Door::Certificate(known), Some(tls)).await;
    let signed = |common, others| Some(papers.sign(common, others));
    let taken = taken_for(&world, &papers, signed(Some("build 7"), &["b7.example"])).await;
    assert_eq!(taken.as_deref(), Ok("certificate build 7"), "the common name");
    let taken = taken_for(&world, &papers, signed(None, &["b8.example", "b9.example"])).await;
    assert_eq!(taken.as_deref(), Ok("certificate b8.example"), "the first of the others where there is none");
    let taken = taken_for(&world, &papers, signed(Some("ops.example"), &[])).await;
    assert_eq!(taken.as_deref(), Ok("ops"), "as the file says");
    let taken = taken_for(&world, &papers, signed(None, &[])).await;
    assert!(taken.as_ref().is_err_and(|told| told.contains("has no usable name")), "{taken:?}");
    let taken = taken_for(&world, &papers, signed(Some("two\nlines"), &[])).await;
    assert!(taken.as_ref().is_err_and(|told| told.contains("printable")), "{taken:?}");
    taken_for(&world, &papers, None).await.expect_err("it shows nothing");
    let foreign = Papers::new().sign(Some("ops.example"), &[]);
    taken_for(&world, &papers, Some(foreign)).await.expect_err("somebody else signed it");
    let taken = taken_for(&world, &papers, signed(Some("build 7"), &[])).await;
    assert_eq!(taken.as_deref(), Ok("certificate build 7"), "the server goes on");
}
