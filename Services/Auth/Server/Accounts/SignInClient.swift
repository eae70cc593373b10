import DocumentModel
import Texts

/// The device that signs in, as it describes itself (`options.device`), and where it is.
struct SignInClient: Sendable {
    /// The device's id if it sends one, otherwise a new one. It can't be guessed, and only the device gets it: a device that sends
    /// the id of an earlier sign-in is that device.
    var device: String
    var isNewDevice: Bool
    /// Such as `android`; empty when the device doesn't say.
    var platform: String
    var origin: CallOrigin

    init(credentials: Document, origin: CallOrigin) {
        self.origin = origin
        let description = credentials["options"]?["device"]
        platform = description?["platform"]?.stringValue.map { $0.shortened(to: 64) } ?? ""
        if let text = description?["deviceId"]?.stringValue, let id = ObjectId(hexString: text),
            id.high != 0 || id.low != 0
        {
            device = id.hexString
            isNewDevice = false
        } else {
            device = Hex.text(Sodium.randomBytes(12))
            isNewDevice = true
        }
    }
}

extension String {
    /// The first bytes of a text, without control characters.
    func shortened(to bytes: Int) -> String {
        String(decoding: utf8.lazy.filter { $0 >= 0x20 && $0 != 0x7F }.prefix(bytes), as: UTF8.self)
    }
}
