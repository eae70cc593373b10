import DocumentModel
import Foundation
import FoundationNetworking

/// A browser that follows a sign-in's redirects one by one, and keeps auth's cookie.
final class Browser: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
    // `@unchecked`: a test uses it from one task.
    private let app: AppClient
    private let configuration = URLSessionConfiguration.ephemeral
    /// The cookies that auth set, as they are sent back.
    var cookies: [String] = []

    init(app: AppClient) {
        self.app = app
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }

    /// Gets a page without following its redirect.
    func get(_ text: String, form: String? = nil) async throws -> (status: Int, location: String?, json: Value) {
        let (response, json) = try await send(text, form: form)
        return (response.statusCode, response.value(forHTTPHeaderField: "Location"), json)
    }

    /// Requests something without following a redirect.
    func send(
        _ text: String, method: String? = nil, form: String? = nil, headers: [String: String] = [:]
    ) async throws -> (response: HTTPURLResponse, json: Value) {
        guard let url = URL(string: text) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        if let form {
            request.httpMethod = "POST"
            request.httpBody = Data(form.utf8)
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            request.setValue("https://issuer.example", forHTTPHeaderField: "Origin")
        }
        if let method { request.httpMethod = method }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        if !cookies.isEmpty { request.setValue(cookies.joined(separator: "; "), forHTTPHeaderField: "Cookie") }
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        let (data, answer) = try await session.data(for: request)
        guard let response = answer as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        if let cookie = response.value(forHTTPHeaderField: "Set-Cookie") {
            cookies.append(String(cookie.prefix { $0 != ";" }))
        }
        let json = (try? ExtendedJSON.parse(Array(data))) ?? .null  // null fails every expectation
        return (response, json)
    }

    /// The URL that begins a sign-in.
    func loginURL(_ provider: String, redirect: String, state: String, device: String? = nil) throws -> String {
        var components = URLComponents(
            string: "\(app.root)/api/client/v2.0/app/\(app.app)/auth/providers/\(provider)/login")
        components?.queryItems = [
            URLQueryItem(name: "redirect", value: redirect), URLQueryItem(name: "state", value: state),
        ]
        if let device { components?.queryItems?.append(URLQueryItem(name: "device", value: device)) }
        guard let text = components?.string else { throw URLError(.badURL) }
        return text
    }

    /// Goes to the identity provider, which signs in at once.
    /// - Returns: auth's URL with the code.
    func visitIssuer(_ provider: String, redirect: String, state: String, device: String? = nil) async throws -> String
    {
        let begun = try await get(try loginURL(provider, redirect: redirect, state: state, device: device))
        guard begun.status == 302, let issuer = begun.location else { throw URLError(.badServerResponse) }
        guard let callback = try await get(issuer).location else { throw URLError(.badServerResponse) }
        return callback
    }

    /// Signs in.
    /// - Returns: the parameters in the fragment of the app's page.
    func signIn(_ provider: String, redirect: String, state: String, device: String? = nil) async throws -> [String:
        String]
    {
        let callback = try await visitIssuer(provider, redirect: redirect, state: state, device: device)
        let ended = try await get(callback)
        guard ended.status == 302, let location = ended.location, location.hasPrefix(redirect + "#") else {
            throw UnexpectedPage(status: ended.status, location: ended.location)
        }
        return Self.fragment(location)
    }

    static func fragment(_ location: String) -> [String: String] {
        var components = URLComponents()
        components.percentEncodedQuery = location.split(separator: "#", maxSplits: 1).last.map(String.init)
        let items = components.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
    }

    struct UnexpectedPage: Error {
        var status: Int
        var location: String?
    }
}
