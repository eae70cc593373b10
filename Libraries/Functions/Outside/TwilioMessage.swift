import DocumentModel
import Foundation
import FunctionProtocol
import HTTPClient

/// A text message, sent by Twilio's Messaging API (www.twilio.com/docs/messaging/api/message-resource).
struct TwilioMessage: Sendable {
    static let error = "TwilioError"
    private static let fields = ["to", "from", "body"]

    /// `to`, `from` and `body`, as the service's rules see them.
    let arguments: Document
    private let settings: ServiceSettings

    /// - Throws: `EffectFailure` for any other action or argument.
    init(_ effect: FunctionEffect, _ settings: ServiceSettings) throws {
        guard effect.action == "send" else {
            throw EffectFailure(
                name: "ServiceCommandNotFound", message: "\(settings.name).\(effect.action) is not supported: send is")
        }
        var arguments = Document()
        for field in effect.arguments.fields {
            // Twilio's own names begin with capitals, and apps use both.
            let name = field.key.prefix(1).lowercased() + field.key.dropFirst()
            guard Self.fields.containsExactly(name) else {
                throw EffectFailure(
                    name: Self.error, message: "\(settings.name).send: \(field.key) is not supported")
            }
            guard arguments[name] == nil, let text = field.value.stringValue else {
                throw EffectFailure(name: Self.error, message: "\(settings.name).send: \(name) must be one text")
            }
            arguments[name] = .string(text)
        }
        for name in Self.fields where arguments[name] == nil {
            throw EffectFailure(name: Self.error, message: "\(settings.name).send: \(name) is missing")
        }
        self.arguments = arguments
        self.settings = settings
    }

    func send(with client: HTTPClient) async throws -> Value {
        let account = try settings.credential("sid")
        let token = try settings.credential("auth_token")
        guard !account.isEmpty, account.utf8.allSatisfy({ $0.isASCIILetterOrDigit }) else {
            throw EffectFailure(name: Self.error, message: "the sid of the service '\(settings.name)' is no account's")
        }
        let base = settings.endpoint(of: "twilio") ?? "https://api.twilio.com"
        let form = Self.fields.map { ($0.prefix(1).uppercased() + $0.dropFirst(), arguments[$0]?.stringValue ?? "") }
        let request = HTTPClient.Request(
            method: "POST", url: "\(base)/2010-04-01/Accounts/\(account)/Messages.json",
            headers: [
                .init("Authorization", "Basic " + Data("\(account):\(token)".utf8).base64EncodedString()),
                .init("Content-Type", "application/x-www-form-urlencoded"), .init("Accept", "application/json"),
            ], body: Array(PercentEncoding.encode(form).utf8))
        let response = try await client.send(request)
        guard !(200..<300).contains(response.status) else { return .undefined }
        throw Self.failure(response, of: settings.name)
    }

    /// Twilio's error is a document with a number and a text.
    private static func failure(_ response: HTTPClient.Response, of service: String) -> EffectFailure {
        guard let answer = try? ExtendedJSON.parseDocument(response.body),  // anything may stand in Twilio's place
            let message = answer["message"]?.stringValue
        else {
            return EffectFailure(
                name: Self.error, message: "\(service).send was answered with status \(response.status)")
        }
        return EffectFailure(
            name: Self.error, message: "\(message) (status \(response.status))", code: answer["code"]?.intValue)
    }
}
