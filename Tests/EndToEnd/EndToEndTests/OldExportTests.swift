import ChildProcesses
import DocumentModel
import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// An export in the older layout, whose services and webhook are called as on App Services.
    struct OldExportTests {
        /// - Parameter vendors: the address of what answers as AWS and Twilio.
        private static func files(vendors: String) -> [String: String] {
            [
                "config.json":
                    #"{"config_version": 20200603, "app_id": "oldexport", "name": "oldexport", "security": {}}"#,
                "services/mongodb-atlas/config.json": """
                {"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Cluster0"}, "version": 1}
                """,
                "services/mongodb-atlas/rules/Shop.Order.json": """
                {"database": "Shop", "collection": "Order", "roles": []}
                """,
                "services/Mail/config.json": """
                {"name": "Mail", "type": "aws", "config": {"accessKeyId": "\(Vendors.accessKey)", "region": "eu-west-1"},
                 "secret_config": {"secretAccessKey": "awsSecret"}, "version": 1}
                """,
                "services/Mail/rules/ses.json": #"{"name": "ses", "actions": ["ses:SendEmail"]}"#,
                "services/Texts/config.json": """
                {"name": "Texts", "type": "twilio", "config": {"sid": "\(Vendors.account)"},
                 "secret_config": {"auth_token": "twilioToken"}, "version": 1}
                """,
                "services/Texts/rules/send.json": #"{"name": "send", "actions": ["send"], "when": {}}"#,
                "services/shop/config.json": #"{"name": "shop", "type": "http", "config": {}, "version": 1}"#,
                "services/shop/incoming_webhooks/ordered/config.json": """
                {"name": "ordered", "run_as_authed_user": false, "run_as_user_id": "", "run_as_user_id_script_source": "",
                 "respond_result": true, "can_evaluate": {},
                 "options": {"httpMethod": "POST", "validationMethod": "SECRET_AS_QUERY_PARAM", "secret": "open sesame"}}
                """,
                "services/shop/incoming_webhooks/ordered/source.js": """
                exports = async function (payload, response) {
                  const order = EJSON.parse(payload.body.text());
                  const orders = context.services.get("mongodb-atlas").db("Shop").collection("Order");
                  const { insertedId } = await orders.insertOne(order);
                  await context.functions.execute("confirmOrder", order);
                  response.setStatusCode(201);
                  response.setBody(JSON.stringify({ id: insertedId, count: await orders.count() }));
                };
                """,
                "functions/confirmOrder/config.json":
                    #"{"name": "confirmOrder", "private": true, "run_as_system": true}"#,
                "functions/confirmOrder/source.js": """
                exports = async ({ _id, mail, phone }) => {
                  const body = `Your order ${_id} has arrived`;
                  await context.services.get("Texts").send({ to: phone, from: "+1555", body });
                  return context.services.get("Mail").ses("eu-west-1").SendEmail({
                    Source: "shop@example.org", Destination: { ToAddresses: [mail] },
                    Message: { Subject: { Data: "Thanks" }, Body: { Text: { Data: body } } } });
                };
                """,
                "partita.json": """
                {"services": {"Mail": {"endpoint": "\(vendors)"}, "Texts": {"endpoint": "\(vendors)"}}}
                """,
            ]
        }

        @Test func `a webhook writes a document, sends a mail and a text message, and answers`() async throws {
            let system = try await RunningSystem.shared()
            let vendors = try await Vendors.start()
            let folder = "\(system.directory)/oldexport"
            for (file, text) in Self.files(vendors: vendors.url) {
                let url = URL(fileURLWithPath: "\(folder)/\(file)")
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: url)
            }
            let tool = CurrentEnvironment.sibling("partita")
            let check = try await CapturedRun.run(tool, ["app", "check", folder])
            #expect(check.status.isSuccess, "\(check.output)")
            #expect(!check.output.contains("not served"), "\(check.output)")
            #expect(check.output.contains("Mail (aws), Texts (twilio)") && check.output.contains("  webhooks "))
            #expect(check.output.contains("incoming_webhooks/ordered/config.json:3 "), "\(check.output)")
            #expect(!check.output.contains("open sesame"))
            let deploy = try await CapturedRun.run(tool, ["app", "deploy", folder, "--data", system.directory])
            #expect(deploy.status.isSuccess, "\(deploy.output)")
            for (name, value) in [("awsSecret", Vendors.secretKey), ("twilioToken", Vendors.token)] {
                let file = "\(folder).\(name)"
                try Data(value.utf8).write(to: URL(fileURLWithPath: file))
                let set = try await CapturedRun.run(
                    "bash",
                    [
                        "-c", "'\(tool)' secret set \(name) --app oldexport --data '\(system.directory)' < '\(file)'",
                    ])
                #expect(set.status.isSuccess, "\(set.output)")
            }
            let client = HTTPCaller(root: system.publicURL, system: system)
            let path = "/api/client/v2.0/app/oldexport/service/shop/incoming_webhook/ordered"
            let order = #"{"_id": "o1", "mail": "ada@example.org", "phone": "+4912345"}"#
            #expect(try await client.post(path, order).status == 401)
            let answer = try await eventually("the app and its secrets are known", within: patience) {
                let answer = try await client.post(
                    path + "?secret=open%20sesame", order.replacing("o1", with: ObjectId().hexString))
                return answer.status == 201 ? answer : nil
            }
            let value = try ExtendedJSON.parse(answer.body)
            #expect(
                value["id"]?.stringValue?.utf8.count == 24 && (value["count"]?.intValue ?? 0) >= 1, "\(answer.text)")
            let sent = try ExtendedJSON.parse(try await vendors.accepted()).arrayValue ?? []
            let id = value["id"]?.stringValue ?? ""
            let text = sent.last { $0["service"] == "twilio" }?["form"]
            #expect(
                text?["To"] == "+4912345" && text?["Body"]?.stringValue == "Your order \(id) has arrived", "\(sent)")
            let mail = sent.last { $0["service"] == "ses" }?["form"]
            #expect(mail?["Destination.ToAddresses.member.1"] == "ada@example.org")
            #expect(mail?["Message.Body.Text.Data"]?.stringValue == "Your order \(id) has arrived")
            #expect(try await client.get(path).status == 405)
        }
    }
}
