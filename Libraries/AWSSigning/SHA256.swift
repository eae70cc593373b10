import Ccrypto
import Texts

/// SHA-256 and its HMAC (FIPS 180-4, RFC 2104), by OpenSSL.
public enum SHA256 {
    static func digest(_ bytes: [UInt8]) -> [UInt8] {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { buffer in
            Ccrypto.SHA256(bytes, bytes.count, buffer.baseAddress)
            return Array(buffer)
        }
    }

    /// The hash as 64 hexadecimal digits in lower case.
    public static func hex(_ bytes: [UInt8]) -> String { Hex.text(digest(bytes)) }

    static func hmac(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { buffer in
            var count: UInt32 = 32
            HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, buffer.baseAddress, &count)
            return Array(buffer)
        }
    }
}
