/* SHA-256, as FIPS 180-4 defines it. */
#include "frame_internal.h"

#include <string.h>

/* clang-format off */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
/* clang-format on */

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void expand(const unsigned char *block, uint32_t w[64])
{
    for (int i = 0; i < 16; i++) {
        const unsigned char *p = block + 4 * i;
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void mix_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    expand(block, w);
    for (int i = 0; i < 64; i++) {
        uint32_t choice = g ^ (e & (f ^ g)), majority = (a & b) | (c & (a | b));
        uint32_t t1 =
            h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + round_constant[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    const uint32_t mixed[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++) {
        state[i] += mixed[i];
    }
}

void far_sha256_init(far_sha256 *h)
{
    *h = (far_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void far_sha256_add(far_sha256 *h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    while (bytes > 0) {
        size_t used = h->bytes % sizeof h->block, room = sizeof h->block - used;
        size_t taken = bytes < room ? bytes : room;
        memcpy(h->block + used, p, taken);
        h->bytes += taken;
        p += taken;
        bytes -= taken;
        if (taken == room) {
            mix_block(h->state, h->block);
        }
    }
}

void far_sha256_finish(far_sha256 *h, char out[65])
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++) {
        length[i] = (unsigned char)(8 * h->bytes >> (56 - 8 * i));
    }
    far_sha256_add(h, "\x80", 1);
    while (h->bytes % sizeof h->block != sizeof h->block - sizeof length) {
        far_sha256_add(h, "", 1); /* its closing zero */
    }
    far_sha256_add(h, length, sizeof length);
    for (int i = 0; i < 64; i++) {
        out[i] = "0123456789abcdef"[h->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    }
    out[64] = 0;
}
