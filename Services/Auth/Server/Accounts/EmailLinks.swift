import AppRegistry
import DocumentModel
import HTTPClient
import Logging
import Texts

/// The secret that a mail carries, and the link with it.
struct EmailLink: Sendable {
    var token: String
    var tokenId: String
    var url: String
}

/// Proves that a user reads the mails of an address: by a link in a mail, or by the app's function, which gets the link's secret.
struct EmailLinks: Sendable {
    let accounts: Accounts
    let sender: MailSender
    let functions: FunctionCaller
    /// How long a link works, in seconds.
    let lifetime: Int64
    let metrics: AuthMetrics
    let logger: Logger

    /// Makes a new secret for an address and stores its digest. Of earlier ones the newest four still work.
    ///
    /// - Parameter page: the app's page that the link opens; empty where a function sends the secret by itself.
    func make(_ kind: EmailTokenKind, page: String, email: String, app: DeployedApp) async throws -> EmailLink {
        let token = Hex.text(Sodium.randomBytes(32))
        let tokenId = ObjectId().hexString
        let expiresAt = accounts.clock.now() + lifetime * 1000
        try await accounts.store.transaction { tables in
            try await tables.addEmailToken(
                kind, id: tokenId, secretHash: Sodium.digest(token), subject: email, of: app.id, expiresAt: expiresAt)
        }
        // Hexadecimal digits need no escaping.
        let separator = page.contains("?") ? "&" : "?"
        return EmailLink(token: token, tokenId: tokenId, url: "\(page)\(separator)token=\(token)&tokenId=\(tokenId)")
    }

    /// Sends a mail.
    ///
    /// - Throws: `badRequest` when the mail server refuses the address for good; `serviceUnavailable` when the mail can't be sent
    ///   now: it may be asked for again.
    func send(_ message: Mail) async throws {
        do {
            try await sender.send(message)
            metrics.mails["sent"].increment()
        } catch let error as HTTPClientError where [.rejected, .invalidRequest].contains(error.code) {
            metrics.mails["refused"].increment()
            logger.warning("a mail was refused", metadata: ["error": "\(error)"])
            throw AuthError(.badRequest, "the mail server refuses this address")
        } catch {
            metrics.mails["failed"].increment()
            logger.error("a mail can't be sent", metadata: ["error": "\(error)"])
            throw AuthError(.serviceUnavailable, "the mail can't be sent now; ask for it again later")
        }
    }

    /// What a confirmation or reset function decided.
    enum FunctionStatus {
        case success, pending
        /// With the error if the function failed, and `nil` if it has decided.
        case fail(AuthError?)
    }

    /// Calls a confirmation or reset function. What isn't a clear yes is a no.
    /// - Throws: `serviceUnavailable`, as ``FunctionCaller``: the function has decided nothing.
    func status(of function: String, app: DeployedApp, arguments: [Value]) async throws(AuthError) -> FunctionStatus {
        do {
            switch try await functions.call(app, function, arguments)["status"]?.stringValue {
            case "success": return .success
            case "pending": return .pending
            default: return .fail(nil)
            }
        } catch {
            logger.warning(
                "a function of auth failed",
                metadata: ["app": "\(app.id)", "function.name": "\(function)", "error": "\(error)"])
            if let unavailable = error as? AuthError { throw unavailable }
            return .fail(AuthError(failed: function, error))
        }
    }
}
