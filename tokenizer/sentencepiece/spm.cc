/*
 * spm.cc: the SentencePiece library as the table of spm.h. Nothing is decided here: options, words
 * and their counts come from the caller.
 */
#include "tokenizer/sentencepiece/spm.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <streambuf>
#include <string>
#include <unordered_map>
#include <vector>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

namespace {

int failed(char *error, const std::string &what)
{
    std::snprintf(error, HPC_SPM_ERROR_BYTES, "%s", what.c_str());
    for (char *c = error; *c; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
    return -1;
}

/* Exceptions end here: in C nobody catches them. */
template <typename F> int guarded(char *error, F f)
{
    try {
        return f();
    } catch (const std::exception &e) {
        return failed(error, e.what());
    } catch (...) {
        return failed(error, "an unknown failure in the SentencePiece library");
    }
}

char *copy_of(const void *data, size_t n)
{
    char *copy = static_cast<char *>(std::malloc(n > 0 ? n : 1));
    if (!copy) throw std::bad_alloc();
    if (n > 0) std::memcpy(copy, data, n);
    return copy;
}

/* ---- training ------------------------------------------------------------------------- */

/* Words as lines "word TAB count". */
class Words : public sentencepiece::SentenceIterator {
  public:
    explicit Words(const hpc_spm_train *train) : train_(train) { Next(); }
    bool done() const override { return rc_ <= 0; }
    void Next() override
    {
        const char *text;
        size_t n;
        int64_t count;
        rc_ = train_->next(&text, &n, &count, train_->user);
        if (rc_ > 0) line_.assign(text, n).append("\t").append(std::to_string(count));
    }
    const std::string &value() const override { return line_; }
    sentencepiece::util::Status status() const override
    {
        if (rc_ >= 0) return sentencepiece::util::Status();
        return sentencepiece::util::Status(sentencepiece::util::StatusCode::kAborted, "aborted");
    }
    int rc() const { return rc_; }

  private:
    const hpc_spm_train *train_;
    int rc_ = 0;
    std::string line_;
};

/* Takes what the library writes to std::cerr as long as it lives. */
class Log : public std::streambuf {
  public:
    explicit Log(const hpc_spm_train *train) : train_(train), before_(std::cerr.rdbuf(this)) {}
    ~Log() override { std::cerr.rdbuf(before_); }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;

  protected:
    int overflow(int c) override
    {
        if (c == traits_type::eof()) return 0;
        if (c != '\n') {
            line_.push_back(static_cast<char>(c));
            return c;
        }
        if (train_->log) train_->log(line_.c_str(), train_->user);
        line_.clear();
        return c;
    }

  private:
    const hpc_spm_train *train_;
    std::streambuf *before_;
    std::string line_;
};

int train(char **model, size_t *n, const hpc_spm_train *t, char *error)
{
    return guarded(error, [&] {
        std::unordered_map<std::string, std::string> options;
        for (const char *const *o = t->options; *o; o += 2) options[o[0]] = o[1];
        std::string serialized;
        Log log(t);
        Words words(t);
        if (words.rc() < 0) return 1;
        const auto status =
            sentencepiece::SentencePieceTrainer::Train(options, &words, &serialized);
        if (words.rc() < 0) return 1;
        if (!status.ok()) return failed(error, status.ToString());
        *model = copy_of(serialized.data(), serialized.size());
        *n = serialized.size();
        return 0;
    });
}

/* ---- the oracle ------------------------------------------------------------------------- */

const sentencepiece::SentencePieceProcessor *processor(const hpc_spm_model *m)
{
    return reinterpret_cast<const sentencepiece::SentencePieceProcessor *>(m);
}

int open(hpc_spm_model **out, const void *data, size_t n, char *error)
{
    *out = nullptr;
    return guarded(error, [&] {
        auto *p = new sentencepiece::SentencePieceProcessor;
        const auto status =
            p->LoadFromSerializedProto(absl::string_view(static_cast<const char *>(data), n));
        if (!status.ok()) {
            delete p;
            return failed(error, status.ToString());
        }
        *out = reinterpret_cast<hpc_spm_model *>(p);
        return 0;
    });
}

void close(hpc_spm_model *m)
{
    delete processor(m);
}

int encode(int32_t **id, size_t *ids_n, const hpc_spm_model *m, const char *text, size_t n,
           char *error)
{
    return guarded(error, [&] {
        std::vector<int> ids;
        const auto status = processor(m)->Encode(absl::string_view(text, n), &ids);
        if (!status.ok()) return failed(error, status.ToString());
        static_assert(sizeof(int) == sizeof(int32_t), "ids are ints");
        *id = reinterpret_cast<int32_t *>(copy_of(ids.data(), ids.size() * sizeof(int)));
        *ids_n = ids.size();
        return 0;
    });
}

int decode(char **text, size_t *n, const hpc_spm_model *m, const int32_t *id, size_t ids_n,
           char *error)
{
    return guarded(error, [&] {
        std::string decoded;
        const std::vector<int> ids(id, id + ids_n);
        const auto status = processor(m)->Decode(ids, &decoded);
        if (!status.ok()) return failed(error, status.ToString());
        *text = copy_of(decoded.data(), decoded.size());
        *n = decoded.size();
        return 0;
    });
}

void release(void *p)
{
    std::free(p);
}

} // namespace

const hpc_spm hpc_spm_table = {HPC_SPM_VERSION, train, release, open, close, encode, decode};
