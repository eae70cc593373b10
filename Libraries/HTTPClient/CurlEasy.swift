import Ccurl

/// A handle of libcurl for one transfer, with all memory that has to live as long as it. Loop only.
final class CurlEasy {
    let handle: UnsafeMutableRawPointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private var memory: [UnsafeMutableRawBufferPointer] = []

    // Initialized once per process, before the first handle.
    private static let initialized = curl_global_init(Int(CURL_GLOBAL_ALL))

    /// - Throws: `HTTPClientError` when libcurl can't allocate memory.
    init() throws(HTTPClientError) {
        guard Self.initialized == CURLE_OK, let handle = curl_easy_init() else {
            errorText.deallocate()
            throw HTTPClientError(.failed, "libcurl can't be initialized")
        }
        self.handle = handle
        errorText[0] = 0
        ccurl_easy_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
        ccurl_easy_long(handle, CURLOPT_NOSIGNAL, 1)
        // libcurl looks up names in a thread, for which it would wait on the loop when a transfer is removed, or runs out of time, before
        // the name server has answered. With this it leaves the thread, which ends by itself.
        ccurl_easy_long(handle, CURLOPT_QUICK_EXIT, 1)
    }

    deinit {
        curl_easy_cleanup(handle)
        for list in lists { curl_slist_free_all(list) }
        for memory in memory { memory.deallocate() }
        errorText.deallocate()
    }

    var detail: String { String(cString: errorText) }

    /// Sets a text, which libcurl copies.
    /// - Throws: `invalidRequest` when the text contains a NUL, where libcurl would truncate it.
    func set(_ option: CURLoption, _ text: String) throws(HTTPClientError) {
        if text.utf8.contains(0) { throw HTTPClientError(.invalidRequest, "a NUL in the request") }
        let code = ccurl_easy_text(handle, option, text)
        if code != CURLE_OK { throw HTTPClientError(code, detail: "") }
    }

    /// Trusts the authorities of a file, and no others: libcurl would go on to look into the system's directory.
    func trust(onlyFile file: String) throws(HTTPClientError) {
        try set(CURLOPT_CAINFO, file)
        ccurl_easy_pointer(handle, CURLOPT_CAPATH, nil)
    }

    func set(_ option: CURLoption, _ number: Int) throws(HTTPClientError) {
        let code = ccurl_easy_long(handle, option, number)
        if code != CURLE_OK { throw HTTPClientError(code, detail: "") }
    }

    /// Sets a duration of at least one millisecond, since 0 means no limit to libcurl.
    func set(_ option: CURLoption, _ duration: Duration) throws(HTTPClientError) {
        try set(option, min(max(1, Int(duration / .milliseconds(1))), Int(Int32.max)))
    }

    func set(_ option: CURLoption, size: Int) throws(HTTPClientError) {
        let code = ccurl_easy_size(handle, option, curl_off_t(size))
        if code != CURLE_OK { throw HTTPClientError(code, detail: "") }
    }

    func set(_ option: CURLoption, _ lines: [String]) throws(HTTPClientError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                throw HTTPClientError(.failed, "out of memory")
            }
            list = longer
        }
        guard let list else { return }
        lists.append(list)
        ccurl_easy_list(handle, option, list)
    }

    /// Keeps a copy of the bytes as long as the handle lives.
    func keep(_ bytes: [UInt8]) -> UnsafeMutableRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyBytes(from: bytes)
        memory.append(copy)
        return copy
    }
}
