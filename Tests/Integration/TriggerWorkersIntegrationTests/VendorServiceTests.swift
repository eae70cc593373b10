import AppDefinition
import DocumentModel
import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// Services of other vendors that functions call: S3 against an object store that checks signatures, the others against a process that does.
@Suite struct VendorServiceTests {
    private static let functions = [
        "s3": """
        exports = async (action, args) => {
          try { return await context.services.get("AWS").s3("us-east-1")[action](args); }
          catch (error) { return { name: error.name, message: error.message }; } };
        """,
        "made": """
        exports = async bucket => {
          const s3 = context.services.get("AWS").s3("us-east-1");
          const put = await s3.PutObject({ Bucket: bucket, Key: "/a folder//ä+b.txt", Body: "hello there",
            ContentType: "text/plain", Metadata: { "made-by": "Ann  B" } });
          await s3.PutObject({ Bucket: bucket, Key: "a folder/bytes", Body: BSON.Binary.fromBase64("AAEC", 0) });
          const got = await s3.GetObject({ Bucket: bucket, Key: "a folder/ä+b.txt" });
          const part = await s3.GetObject({ Bucket: bucket, Key: "a folder/bytes", Range: "bytes=1-2" });
          const list = await s3.ListObjectsV2({ Bucket: bucket, Prefix: "a folder/", MaxKeys: 10 });
          await s3.CopyObject({ Bucket: bucket, Key: "copy", CopySource: bucket + "/a%20folder/bytes" });
          const head = await s3.HeadObject({ Bucket: bucket, Key: "copy" });
          await s3.DeleteObject({ Bucket: bucket, Key: "copy" });
          let gone;
          try { await s3.GetObject({ Bucket: bucket, Key: "copy" }); } catch (error) { gone = error; }
          return { etag: put.ETag, text: got.Body.text(), type: got.ContentType, length: got.ContentLength, by: got.Metadata["Made-By"],
            isDate: got.LastModified instanceof Date, part: part.Body.toBase64?.() ?? part.Body.buffer.length, keys: list.Contents.map(o => o.Key),
            sizes: list.Contents.map(o => o.Size), truncated: list.IsTruncated, head: head.ContentLength,
            gone: gone.name + " " + gone.message }; };
        """,
        "signed": """
        exports = (bucket, Method, ContentType) => context.services.get("AWS").s3("us-east-1")
          .PresignURL({ Bucket: bucket, Key: "/some/path", Method, ExpirationMS: 30000, ContentType });
        """,
        "atAmazon": """
        exports = (Bucket, region) => context.services.get("Amazon").s3(region)
          .PresignURL({ Bucket, Key: "a b", Method: "GET", ExpirationMS: 1000 });
        """,
        "userPut": """
        exports = (bucket, Key) => context.services.get("AWS").s3("us-east-1").PutObject({ Bucket: bucket, Key, Body: "x" });
        """,
        "userGet": """
        exports = (Bucket, Key) => context.services.get("AWS").s3("us-east-1").GetObject({ Bucket, Key });
        """,
        "mail": """
        exports = async source => {
          const result = await context.services.get("AWS").ses("eu-west-1").SendEmail({
            Source: source, Destination: { ToAddresses: ["ä b@example.org", "c@example.org"] },
            Message: { Subject: { Charset: "UTF-8", Data: "Hi & welcome" }, Body: { Html: { Charset: "UTF-8", Data: "<b>é</b>=" } } } });
          return result; };
        """,
        "raw": """
        exports = () => context.services.get("AWS").ses().SendRawEmail({ RawMessage: { Data: "From: a" } });
        """,
        "queue": """
        exports = async () => {
          const aws = context.services.get("AWS");
          const sent = await aws.sqs("eu-west-1").SendMessage({ QueueUrl: "https://q/1", MessageBody: "a", DelaySeconds: 5 });
          const put = await aws.kinesis("eu-west-1").PutRecord({ Data: JSON.stringify({ a: "é" }), StreamName: "s", PartitionKey: "1" });
          const got = await aws.kinesis("eu-west-1").GetRecords({ ShardIterator: "i" });
          const run = await aws.lambda("eu-west-1").Invoke({ FunctionName: "arn:aws:lambda:eu-west-1:1:function:f", Payload: "[1]", InvocationType: "RequestResponse" });
          let gone;
          try { await aws.sqs("eu-west-1").GetQueueUrl({ QueueName: "q" }); } catch (error) { gone = error.name + " " + error.message; }
          return { sent, put, record: got.Records[0].Data.text(), run: run.Payload.text(), status: run.StatusCode, gone }; };
        """,
        "aws": """
        exports = async (interface_, region, action, args) => {
          try { return await context.services.get("AWS")[interface_](region)[action](args); }
          catch (error) { return error.name + ": " + error.message; } };
        """,
        "sms": """
        exports = async message => {
          try { const result = await context.services.get("Texts").send(message); return result === undefined ? "sent" : result; }
          catch (error) { return { name: error.name, message: error.message, code: error.code }; } };
        """,
        "userSms": "exports = message => context.services.get('Texts').send(message);",
        "web": "exports = async url => (await context.services.get('web').get({ url })).statusCode;",
        "userWeb": """
        exports = async (method, url, body) => {
          try { return (await context.services.get('web')[method]({ url, body, followRedirects: true })).statusCode; }
          catch (error) { return error.name; } };
        """,
        "userOpen": "exports = async url => (await context.services.get('open').get({ url })).statusCode;",
        "other": """
        exports = async name => {
          try { return await context.services.get(name).send({}); } catch (error) { return error.name + ": " + error.message; } };
        """,
        "isMine": "exports = number => number === '+1555' + context.user.id.length;",
    ]

    /// The services in the older layout's folder.
    private static func files(s3: String, vendors: String) -> [String: String] {
        [
            "services/AWS/config.json": """
            {"name": "AWS", "type": "aws", "version": 1, "config": {"accessKeyId": "AKIATEST", "region": "us-east-1"},
             "secret_config": {"secretAccessKey": "awsSecret"}}
            """,
            "services/AWS/rules/s3.json": """
            {"name": "s3", "actions": ["s3:PutObject"], "when": {"%%args.Key": {"%in": ["allowed/1", "allowed/2"]}}}
            """,
            "services/AWS/rules/s3get.json": """
            {"name": "s3get", "actions": ["s3:*"], "when": {"%%args.Key": "%%user.id"}}
            """,
            "data_sources/Amazon/config.json": """
            {"name": "Amazon", "type": "aws", "config": {"accessKeyId": "AKIATEST", "region": "eu-west-3"},
             "secret_config": {"secretAccessKey": "awsSecret"}}
            """,
            "services/Texts/config.json": """
            {"name": "Texts", "type": "twilio", "config": {"sid": "ACtest"}, "secret_config": {"auth_token": "twilioToken"}}
            """,
            "services/Texts/rules/send.json": """
            {"name": "send", "actions": ["send"],
             "when": {"%%true": {"%function": {"name": "isMine", "arguments": ["%%args.to"]}}}}
            """,
            "http_endpoints/web/config.json": #"{"name": "web", "type": "http", "config": {}}"#,
            "http_endpoints/web/rules/get.json": """
            {"name": "get", "actions": ["get"],
             "when": {"%%args.url.host": {"%in": ["\(vendors.dropFirst(7))"]}, "%%args.url.query.key": "%%user.id"}}
            """,
            "http_endpoints/web/rules/post.json":
                #"{"name": "post", "actions": ["post"], "when": {"body.city": "Rome"}}"#,
            "services/open/config.json": #"{"name": "open", "type": "http", "config": {}}"#,
            "services/Push/config.json": #"{"name": "Push", "type": "gcm", "config": {"senderId": "1"}}"#,
            "partita.json": """
            {"services": {"AWS": {"endpoint": "\(vendors)", "endpoints": {"s3": "\(s3)/"}}, "Texts": {"endpoint": "\(vendors)"}}}
            """,
        ]
    }

    private struct World {
        let fixture: TriggersFixture
        let app: TriggerApp
        let vendors: Vendors
        let bucket = "bucket-" + ObjectId().hexString
        let token: String

        func call(_ function: String, _ arguments: String = "[]") async throws -> Value {
            let answer = try await fixture.call(function, arguments, app: app.id, token: token)
            return try ExtendedJSON.parse(answer.text)
        }

        func accepted() async throws -> [Value] {
            try ExtendedJSON.parse(try await vendors.accepted()).arrayValue ?? []
        }
    }

    /// Deploys the app, and waits until functions have its secrets.
    private func world() async throws -> World {
        let fixture = try await TriggersFixture.shared()
        let store = try await ObjectStore.shared()
        let vendors = try await Vendors.start()
        let app = TriggerApp(
            functions: Self.functions,
            more: Self.files(s3: store.endpoint.replacing("127.0.0.1", with: "localhost"), vendors: vendors.url))
        try await fixture.registry.setSecret("awsSecret", of: app.id, to: store.secretKey)
        try await fixture.registry.setSecret("twilioToken", of: app.id, to: Vendors.token)
        try await fixture.deploy(app)
        let world = World(fixture: fixture, app: app, vendors: vendors, token: try fixture.token(app))
        try await eventually("the functions answer") {
            try await fixture.call("known", app: app.id, token: world.token).status == 200
        }
        // The bucket: media offload's client makes its own, and exports' buckets are there.
        try await Self.makeBucket(world.bucket, in: store)
        return world
    }

    private static func makeBucket(_ bucket: String, in store: ObjectStore) async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.arguments = [
            "-sS", "--fail-with-body", "-X", "PUT", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user",
            "\(store.accessKey):\(store.secretKey)", "-H",
            "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "\(store.endpoint)/\(bucket)",
        ]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    @Test func `objects are put, read, listed, copied and deleted, with the results of AWS' SDK for Go`() async throws {
        let world = try await world()
        let result = try await world.call("made", #"["\#(world.bucket)"]"#)
        #expect(result["etag"] == "\"161bc25962da8fed6d2f59922fb642aa\"", "\(result)")  // MD5 of the body
        #expect(result["text"] == "hello there" && result["type"] == "text/plain" && result["length"]?.intValue == 11)
        #expect(result["by"] == "Ann B" || result["by"] == "Ann  B")
        #expect(result["isDate"] == true && result["part"] == "AQI=")
        #expect(result["keys"] == .array(["a folder/bytes", "a folder/ä+b.txt"]))
        #expect(result["sizes"]?.arrayValue?.map(\.intValue) == [3, 11] && result["truncated"] == false)
        #expect(result["head"]?.intValue == 3)
        #expect(result["gone"]?.stringValue?.hasPrefix("AWSError NoSuchKey: ") == true, "\(result)")
    }

    @Test func `a presigned URL opens an object for its method and type only`() async throws {
        let world = try await world()
        func request(_ url: Value, _ method: String, type: String? = nil) async throws -> (Int, String) {
            var request = URLRequest(url: try #require(URL(string: url.stringValue ?? "")))
            request.httpMethod = method
            if let type { request.setValue(type, forHTTPHeaderField: "Content-Type") }
            if method == "PUT" { request.httpBody = Data("a picture".utf8) }
            let (data, response) = try await URLSession.shared.data(for: request)
            return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
        }
        let put = try await world.call("signed", #"["\#(world.bucket)", "PUT", "image/png"]"#)
        #expect(put.stringValue?.contains("X-Amz-Expires=30&") == true, "\(put)")
        #expect(try await request(put, "PUT", type: "text/html").0 == 403)
        #expect(try await request(put, "PUT", type: "image/png").0 == 200)
        let get = try await world.call("signed", #"["\#(world.bucket)", "GET", "image/png"]"#)
        let opened = try await request(get, "GET")
        #expect(opened.0 == 200 && opened.1 == "a picture")
        #expect(try await request(get, "DELETE").0 == 403)
    }

    @Test func `at AWS the bucket is in the host's name, unless the certificate wouldn't cover it`() async throws {
        let world = try await world()
        for (bucket, region, place) in [
            ("photos", #""eu-west-1""#, "https://photos.s3.eu-west-1.amazonaws.com/a%20b?"),
            ("photos", "null", "https://photos.s3.eu-west-3.amazonaws.com/a%20b?"),
            ("my.photos", #""us-east-1""#, "https://s3.us-east-1.amazonaws.com/my.photos/a%20b?"),
            ("Photos", #""cn-north-1""#, "https://s3.cn-north-1.amazonaws.com.cn/Photos/a%20b?"),
        ] {
            let url = try await world.call("atAmazon", "[\"\(bucket)\", \(region)]")
            #expect(url.stringValue?.hasPrefix(place) == true, "\(url)")
        }
    }

    @Test func `a function that runs as a user may call what a rule allows, and nothing else`() async throws {
        let world = try await world()
        func status(_ function: String, _ bucket: String, _ key: String) async throws -> (Int, String) {
            let answer = try await world.fixture.call(
                function, #"["\#(bucket)", "\#(key)"]"#, app: world.app.id, token: world.token)
            return (answer.status, answer.text)
        }
        let allowed = try await status("userPut", world.bucket, "allowed/1")
        #expect(allowed.0 == 200, "\(allowed)")
        let refused = try await status("userPut", world.bucket, "secret/1")
        #expect(
            refused.0 == 400
                && refused.1.contains("no rule of the service 'AWS' allows this user to call s3:PutObject"),
            "\(refused)")
        #expect(try await status("userGet", world.bucket, "allowed/1").1.contains("s3:GetObject"))
        #expect(try await status("userPut", world.bucket, "ann").0 == 200)  // by the rule for s3:*
        #expect(try await status("userGet", world.bucket, "ann").0 == 200)
        // What would reach another bucket, or another host, isn't sent.
        for (bucket, key) in [(world.bucket, "../other/x"), ("..", "ann"), ("a/b", "ann"), (world.bucket, "a/./b")] {
            let answer = try await world.call("s3", #"["GetObject", {"Bucket": "\#(bucket)", "Key": "\#(key)"}]"#)
            #expect(answer["name"] == "AWSError", "\(bucket) \(key): \(answer)")
        }
    }

    @Test func `SES and Kinesis, SQS and Lambda accept the signed requests, and their answers are results`()
        async throws
    {
        let world = try await world()
        let mail = try await world.call("mail", #"["me@example.org"]"#)
        #expect(mail.isIdentical(to: ["MessageId": "m-1 <a>"]), "\(mail)")
        _ = try await world.call("raw")
        let result = try await world.call("queue")
        #expect(result["sent"]?["MessageId"] == "m-2" && result["put"]?["SequenceNumber"] == "1", "\(result)")
        #expect(
            result["record"] == "a record" && result["run"] == #"{"echo": [1]}"# && result["status"]?.intValue == 200)
        #expect(
            result["gone"]?.stringValue?.hasPrefix(
                "AWSError QueueDoesNotExist: The specified queue does not exist. (sqs.GetQueueUrl, status code: 400")
                == true, "\(result)")
        let accepted = try await world.accepted()
        let form = try #require(accepted.first?["form"])
        #expect(form["Action"] == "SendEmail" && form["Version"] == "2010-12-01")
        #expect(form["Destination.ToAddresses.member.1"] == "ä b@example.org")
        #expect(form["Destination.ToAddresses.member.2"] == "c@example.org")
        #expect(form["Message.Subject.Data"] == "Hi & welcome" && form["Message.Body.Html.Data"] == "<b>é</b>=")
        #expect(accepted[1]["form"]?["RawMessage.Data"] == "RnJvbTogYQ==")
        #expect(accepted[2]["target"] == "AmazonSQS.SendMessage")
        #expect(
            try ExtendedJSON.parse(accepted[2]["body"]?.stringValue ?? "").isIdentical(
                to: ["QueueUrl": "https://q/1", "MessageBody": "a", "DelaySeconds": 5]))
        let record = try ExtendedJSON.parse(accepted[3]["body"]?.stringValue ?? "")
        #expect(record["Data"] == "eyJhIjoiw6kifQ==" && record["StreamName"] == "s")
        let invoked = try #require(accepted.first { $0["service"] == "lambda" })
        #expect(invoked["invocation"] == "RequestResponse" && invoked["body"] == "[1]")
        try await world.fixture.registry.setSecret("awsSecret", of: world.app.id, to: "another one")
        let send = #"["ses", "eu-west-1", "SendEmail", {"Source": "me@example.org"}]"#
        try await eventually("AWS refuses the signature") {
            try await world.call("aws", send).stringValue?.hasPrefix(
                "AWSError: SignatureDoesNotMatch: the signature is another one (ses.SendEmail, status code: 403")
                == true
        }
        try await world.fixture.registry.setSecret("awsSecret", of: world.app.id, to: Vendors.secretKey)
        try await eventually("AWS accepts the signature") {
            try await world.call("aws", send)["MessageId"] != nil
        }
        let rejected = try await world.call(
            "aws", #"["ses", "eu-west-1", "SendEmail", {"Source": "nobody@example.org"}]"#)
        #expect(
            rejected.stringValue?.hasPrefix("AWSError: MessageRejected: Email address is not verified & so on.") == true
        )
    }

    @Test func `what isn't served of AWS is refused by name`() async throws {
        let world = try await world()
        let cases: [(String, String)] = [
            (#"["polly", "eu-west-1", "SynthesizeSpeech", {}]"#, "ServiceCommandNotFound: AWS.polly is not supported"),
            (#"["put", {"bucket": "b"}, "x", {}]"#, "ServiceCommandNotFound: AWS.put is not supported"),
            (
                #"["s3", "eu-west-1", "PutBucketPolicy", {}]"#,
                "ServiceCommandNotFound: AWS.s3.PutBucketPolicy is not supported"
            ),
            (#"["s3", "a.example.org/", "GetObject", {}]"#, "AWSError: the region of s3"),
            (
                #"["s3", "eu-west-1", "GetObject", {"Bucket": "b", "Key": "k", "Odd": 1}]"#,
                "AWSError: s3.GetObject: Odd"
            ),
            (
                #"["s3", "eu-west-1", "PutObject", {"Bucket": "b", "Key": "k", "Body": {}}]"#,
                "AWSError: s3.PutObject: Body"
            ),
            (#"["lambda", "eu-west-1", "CreateFunction", {}]"#, "ServiceCommandNotFound: AWS.lambda.CreateFunction"),
        ]
        for action in AWSInterface.named("s3")?.actions ?? [] {
            let answer = try await world.call("aws", #"["s3", "eu-west-1", "\#(action)", {}]"#)
            #expect(answer.stringValue?.hasPrefix("AWSError: s3.\(action): ") == true, "\(action): \(answer)")
        }
        for (arguments, expected) in cases {
            let answer = try await world.call("aws", arguments)
            #expect(answer.stringValue?.hasPrefix(expected) == true, "\(arguments): \(answer)")
        }
        let direct = try await world.fixture.post(
            #"{"name": "send", "service": "Texts", "arguments": [{}]}"#, app: world.app.id, token: world.token)
        #expect(direct.status == 400 && direct.text.contains("ServiceCommandNotFound"), "\(direct)")
        let unknown = try await world.call("other", #"["Nobody"]"#)
        #expect(unknown == "ServiceNotFound: service not found: 'Nobody'")
        let push = try await world.call("other", #"["Push"]"#)
        #expect(push == "ServiceNotFound: the service 'Push' of type gcm is not supported")
    }

    @Test func `the rules of a service of type http see the URL's parts and the body`() async throws {
        let world = try await world()
        let url = world.vendors.url + "/requests"
        let place = world.vendors.url.dropFirst("http://".count)
        #expect(try await world.call("web", #"["\#(url)"]"#).intValue == 200)
        #expect(try await world.call("userOpen", #"["\#(url)"]"#).intValue == 200)
        let cases: [(String, String, String, Value)] = [
            ("get", "\(url)?key=ann", "null", 200), ("get", "\(url)?key=bea", "null", "NoMatchingRuleFound"),
            ("get", url, "null", "NoMatchingRuleFound"),
            ("get", "\(url)?key=bea&key=ann", "null", "NoMatchingRuleFound"),
            ("get", "http://\(place)@example.org/?key=ann", "null", "NoMatchingRuleFound"),
            ("get", "http://example.org/?key=ann#\(place)", "null", "NoMatchingRuleFound"),
            ("get", "\(place)/requests?key=ann", "null", "HTTPError"),
            ("delete", "\(url)?key=ann", "null", "NoMatchingRuleFound"),
            ("post", url, #"{"city": "Rome"}"#, 403), ("post", url, #"{"city": "Oslo"}"#, "NoMatchingRuleFound"),
        ]
        for (method, url, body, expected) in cases {
            let answer = try await world.call("userWeb", #"["\#(method)", "\#(url)", \#(body)]"#)
            #expect(answer == expected, "\(method) \(url) \(body): \(answer)")
        }
    }

    @Test func `the rules of a service of type http are asked about each redirect`() async throws {
        let world = try await world()
        let url = world.vendors.url + "/requests"
        func redirect(_ status: Int, to url: String, key: String = "ann") -> String {
            "\(world.vendors.url)/redirect?key=\(key)&status=\(status)&to=\(PercentEncoding.encode(url))"
        }
        let elsewhere = url.replacing("localhost", with: "127.0.0.1")
        let rome = #"{"city": "Rome"}"#
        let cases: [(String, String, String, Value)] = [
            ("get", redirect(302, to: "\(url)?key=ann"), "null", 200),
            ("get", redirect(302, to: "/requests?key=ann"), "null", 200),
            ("get", redirect(302, to: "\(url)?key=bea"), "null", "NoMatchingRuleFound"),
            ("get", redirect(307, to: "\(elsewhere)?key=ann"), "null", "NoMatchingRuleFound"),
            ("get", redirect(301, to: redirect(308, to: "\(url)?key=ann")), "null", 200),
            ("get", redirect(301, to: redirect(308, to: "\(elsewhere)?key=ann")), "null", "NoMatchingRuleFound"),
            ("get", redirect(302, to: "/redirect?key=ann&status=302&to=/redirect"), "null", "NoMatchingRuleFound"),
            // Still a POST, which the vendors refuse; or a GET, about which another rule decides.
            ("post", redirect(307, to: url), rome, 403), ("post", redirect(303, to: url), rome, "NoMatchingRuleFound"),
            ("post", redirect(302, to: "\(url)?key=ann"), rome, 200),
        ]
        for (method, url, body, expected) in cases {
            let answer = try await world.call("userWeb", #"["\#(method)", "\#(url)", \#(body)]"#)
            #expect(answer == expected, "\(method) \(url) \(body): \(answer)")
        }
        // Without end.
        var url11 = "\(url)?key=ann"
        for _ in 0..<11 { url11 = redirect(302, to: url11) }
        #expect(try await world.call("userWeb", #"["get", "\#(url11)", null]"#) == "HTTPError")
        // Rules aren't asked about what the system does.
        #expect(try await world.call("web", #"["\#(redirect(302, to: elsewhere))"]"#).intValue == 302)
    }

    @Test func `Twilio gets a form with the account's name and password, and its errors are a script's`() async throws {
        let world = try await world()
        #expect(
            try await world.call("sms", ##"[{"to": "+1 555&8", "from": "+1555", "body": "Grüße + 1=1; #a%20"}]"##)
                == "sent")
        #expect(try await world.call("sms", #"[{"To": "whatsapp:+1", "From": "whatsapp:+2", "Body": "b"}]"#) == "sent")
        let forms = try await world.accepted().map { $0["form"] ?? .null }
        #expect(
            forms.first?.isIdentical(to: ["To": "+1 555&8", "From": "+1555", "Body": "Grüße + 1=1; #a%20"]) == true,
            "\(forms)")
        #expect(forms.last?.isIdentical(to: ["To": "whatsapp:+1", "From": "whatsapp:+2", "Body": "b"]) == true)
        let wrong = try await world.call("sms", #"[{"to": "me", "from": "+1", "body": "b"}]"#)
        #expect(wrong["name"] == "TwilioError" && wrong["code"]?.intValue == 21211, "\(wrong)")
        #expect(wrong["message"] == "Invalid 'To' Phone Number: me (status 400)")
        let incomplete = try await world.call("sms", #"[{"to": "+1", "from": "+1"}]"#)
        #expect(incomplete["message"] == "Texts.send: body is missing")
        let odd = try await world.call("sms", #"[{"to": "+1", "from": "+1", "body": "b", "mediaUrl": "x"}]"#)
        #expect(odd["message"] == "Texts.send: mediaUrl is not supported")
        func asUser(_ number: String) async throws -> Int {
            try await world.fixture.call(
                "userSms", #"[{"to": "\#(number)", "from": "+1", "body": "b"}]"#, app: world.app.id, token: world.token
            ).status
        }
        #expect(try await asUser("+15553") == 200)
        #expect(try await asUser("+15554") == 400)
        let count = try await world.accepted().count
        try await world.fixture.registry.setSecret("twilioToken", of: world.app.id, to: "another one")
        try await eventually("the secret is another one") {
            try await world.call("sms", #"[{"to": "+1", "from": "+1", "body": "b"}]"#)["message"]
                == "Authenticate (status 401)"
        }
        try await world.fixture.registry.removeSecret("twilioToken", of: world.app.id)
        try await eventually("the secret is gone") {
            try await world.call("sms", #"[{"to": "+1", "from": "+1", "body": "b"}]"#)["message"]?.stringValue?
                .hasPrefix(
                    "the secret 'twilioToken', the auth_token of the service 'Texts', isn't set") == true
        }
        #expect(try await world.accepted().count >= count)
    }
}
