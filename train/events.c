/*
 * events.c: writes TensorBoard event files: checksummed records of protocol buffers, encoded by
 * hand.
 *
 * Scalars only. Nothing in this code base reads these files.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "train/metrics.h"

struct hpc_events {
    hpc_file_writer *file;
    hpc_buf event, part, value, record; /* kept from event to event */
};

/* ---- protocol buffers ---------------------------------------------------------- */

/* Of tensorflow.Event, its Summary and SessionLog, and Summary.Value. */
enum {
    EVENT_WALL_TIME = 1,    /* double */
    EVENT_STEP = 2,         /* int64 */
    EVENT_FILE_VERSION = 3, /* string */
    EVENT_SUMMARY = 5,
    EVENT_SESSION_LOG = 7,
    SUMMARY_VALUE = 1, /* repeated */
    VALUE_TAG = 1,     /* string */
    VALUE_SIMPLE = 2,  /* float */
    SESSION_STATUS = 1 /* enum: 1 is START */
};
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* wire types */

static void put_varint(hpc_buf *b, uint64_t v)
{
    uint8_t byte[10];
    size_t n = 0;
    for (; v > 127; v >>= 7) byte[n++] = (uint8_t)(v | 128);
    byte[n++] = (uint8_t)v;
    hpc_buf_add(b, byte, n);
}

static void put_key(hpc_buf *b, int field, int wire)
{
    put_varint(b, (uint64_t)field << 3 | (unsigned)wire);
}

/* Little-endian on any machine. */
static void put_fixed(hpc_buf *b, uint64_t v, size_t bytes)
{
    uint8_t byte[8];
    for (size_t k = 0; k < bytes; k++) byte[k] = (uint8_t)(v >> 8 * k);
    hpc_buf_add(b, byte, bytes);
}

static void put_bytes(hpc_buf *b, int field, const void *data, size_t n)
{
    put_key(b, field, BYTES);
    put_varint(b, n);
    hpc_buf_add(b, data, n);
}

static void put_head(hpc_buf *b, double time, int64_t step)
{
    uint64_t bits;
    b->n = 0;
    memcpy(&bits, &time, sizeof bits);
    put_key(b, EVENT_WALL_TIME, FIXED64);
    put_fixed(b, bits, 8);
    if (step == 0) return; /* as other writers leave it out */
    put_key(b, EVENT_STEP, VARINT);
    put_varint(b, (uint64_t)step);
}

static void put_scalar(hpc_buf *summary, hpc_buf *value, const hpc_event_scalar *s)
{
    uint32_t bits;
    value->n = 0;
    memcpy(&bits, &s->value, sizeof bits);
    put_bytes(value, VALUE_TAG, s->tag, strlen(s->tag));
    put_key(value, VALUE_SIMPLE, FIXED32);
    put_fixed(value, bits, 4);
    put_bytes(summary, SUMMARY_VALUE, value->data, value->n);
}

/* ---- records ---------------------------------------------------------------------- */

/* CRC-32C, bit by bit: an event has a few hundred bytes. */
static uint32_t crc32c(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint32_t crc = ~0u;
    for (size_t k = 0; k < n; k++) {
        crc ^= p[k];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

/* Masked CRC: a checksum over data that contains its own checksum is weak. */
static void put_checksum(hpc_buf *b, const void *data, size_t n)
{
    uint32_t crc = crc32c(data, n);
    put_fixed(b, (crc >> 15 | crc << 17) + 0xa282ead8u, 4);
}

/* Length, its checksum, the event, its checksum. */
static int write_event(hpc_events *e)
{
    hpc_buf *r = &e->record;
    uint8_t length[8];
    int rc = HPC_OK;
    for (int k = 0; k < 8; k++) length[k] = (uint8_t)((uint64_t)e->event.n >> 8 * k);
    r->n = 0;
    hpc_buf_add(r, length, sizeof length);
    put_checksum(r, length, sizeof length);
    hpc_buf_add(r, e->event.data, e->event.n);
    put_checksum(r, e->event.data, e->event.n);
    if (e->event.failed || e->part.failed || e->value.failed || r->failed) TRY(HPC_E_NOMEM);
    TRY(hpc_file_write(e->file, r->data, r->n));
out:
    return rc;
}

/* ---- files ------------------------------------------------------------------------- */

static int open_file(hpc_events *e, const char *run, double time, const char *host)
{
    char own[256] = "";
    hpc_buf path = {0};
    if (!host && gethostname(own, sizeof own - 1) == 0) host = own;
    hpc_buf_printf(&path, "%s/events.out.tfevents.%010lld.", run, (long long)time);
    for (const char *p = host && host[0] ? host : "localhost"; *p; p++) {
        bool plain = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
                     (*p >= 'A' && *p <= 'Z') || *p == '-' || *p == '.';
        hpc_buf_text(&path, plain ? (char[]){*p, '\0'} : "_");
    }
    int rc = path.failed ? path.failed : hpc_file_append(&e->file, path.data);
    hpc_buf_release(&path);
    return rc;
}

/* Marks a restart: TensorBoard then discards events of other files from this step on, from an
 * interrupted run or an earlier run in the same folder. */
static int write_restart(hpc_events *e, int64_t step, double time)
{
    put_head(&e->event, time, step + 1);
    e->part.n = 0;
    put_key(&e->part, SESSION_STATUS, VARINT);
    put_varint(&e->part, 1);
    put_bytes(&e->event, EVENT_SESSION_LOG, e->part.data, e->part.n);
    return write_event(e);
}

int hpc_events_open(hpc_events **out, const char *run, int64_t step, double time, const char *host)
{
    static const char version[] = "brain.Event:2";
    int rc = HPC_E_NOMEM;
    *out = NULL;
    hpc_events *e = hpc_alloc(1, sizeof *e);
    if (!e) goto out;
    TRY(open_file(e, run, time, host));
    put_head(&e->event, time, 0);
    put_bytes(&e->event, EVENT_FILE_VERSION, version, sizeof version - 1);
    TRY(write_event(e));
    TRY(write_restart(e, step, time));
    *out = e;
    e = NULL;
out:
    hpc_events_close(e);
    return rc;
}

int hpc_events_add(hpc_events *e, int64_t step, double time, const hpc_event_scalar *scalar, int n)
{
    put_head(&e->event, time, step);
    e->part.n = 0;
    for (int k = 0; k < n; k++) put_scalar(&e->part, &e->value, &scalar[k]);
    put_bytes(&e->event, EVENT_SUMMARY, e->part.data, e->part.n);
    return write_event(e);
}

void hpc_events_close(hpc_events *e)
{
    if (!e) return;
    hpc_file_close_writer(e->file);
    hpc_buf_release(&e->event);
    hpc_buf_release(&e->part);
    hpc_buf_release(&e->value);
    hpc_buf_release(&e->record);
    hpc_free(e);
}

double hpc_events_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
