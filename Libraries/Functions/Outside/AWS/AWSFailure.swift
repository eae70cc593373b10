import DocumentModel
import FunctionProtocol
import HTTPClient

/// AWS' answer to a request that it refuses.
struct AWSFailure {
    private let code: String
    private let text: String
    private let status: Int
    private let requestId: String

    init(_ response: HTTPClient.Response) {
        status = response.status
        var code = "", text = ""
        var requestId = response[header: "x-amzn-requestid"] ?? response[header: "x-amz-request-id"] ?? ""
        if let root = XMLElement(response.body) {
            let error = root.name == "Error" ? root : root.child("Error") ?? root
            code = error.child("Code")?.text ?? ""
            text = error.child("Message")?.text ?? ""
            if requestId.isEmpty { requestId = root.child("RequestId")?.text ?? "" }
        } else if let answer = try? ExtendedJSON.parseDocument(response.body) {  // anything may stand in AWS' place
            code = answer["__type"]?.stringValue ?? ""
            text = answer["message"]?.stringValue ?? answer["Message"]?.stringValue ?? ""
        }
        if code.isEmpty { code = response[header: "x-amzn-errortype"] ?? "" }
        // `com.amazonaws.kinesis#ResourceNotFoundException`, `ResourceNotFoundException:http://…`
        code = (code.splitAtBytes("#").last ?? code).splitAtBytes(":").first ?? code
        // The answer to HEAD has no body, and AWS' SDK for Go takes its code from the status.
        let names = [301: "MovedPermanently", 403: "Forbidden", 404: "NotFound"]
        self.code = code.isEmpty ? names[status] ?? "\(status)" : code
        self.text = text
        self.requestId = requestId
    }

    /// The error of a script, which begins as that of AWS' SDK for Go: with AWS' code.
    func effectFailure(of call: String) -> EffectFailure {
        AWSCall.failure(
            "\(code): \(text.isEmpty ? "no message" : text) (\(call), status code: \(status), request id: \(requestId))"
        )
    }
}
